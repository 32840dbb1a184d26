"""Is there room on a host without inventory? Its own columns decide, by Nova's rules.

They are the old Ram, Core and Disk rules: what is asked is no more than the host has,
and all that is used no more than that times a ratio. What the same command put there
already counts, and what it takes away does not.
"""

from __future__ import annotations

from gantt.model.commands import Claim
from gantt.state.hosts import Hosts


class Room:
    """Amounts that one command adds to hosts while it is planned, by host row."""

    def __init__(self, hosts: Hosts, command: Claim) -> None:
        self._hosts = hosts
        self._ratios = command.ratios
        self._asked = (command.vcpus, command.memory_mb, command.disk_mb)
        self._more: dict[int, tuple[int, int, int]] = {}

    def has(self, row: int) -> bool:
        """Whether the host at ``row`` has room for one instance more."""
        hosts = self._hosts
        vcpus, memory_mb, disk_mb = self._asked
        more = self._more.get(row, (0, 0, 0))
        total = int(hosts.vcpus_total[row])
        used = int(hosts.vcpus_used[row]) + more[0]
        # A host that does not tell its vcpus is not limited by them.
        if total and not self._fits(0, row, vcpus, total, used):
            return False
        total = int(hosts.total_ram_mb[row])
        used = total - int(hosts.free_ram_mb[row]) + more[1]
        if not self._fits(1, row, memory_mb, total, used):
            return False
        total = 1024 * int(hosts.total_disk_gb[row])
        used = total - int(hosts.free_disk_mb[row]) + more[2]
        return self._fits(2, row, disk_mb, total, used)

    def take(self, row: int) -> None:
        """One instance more is on the host at ``row``."""
        self.add(row, self._asked)

    def add(self, row: int, amounts: tuple[int, int, int], times: int = 1) -> None:
        """``amounts`` (vcpus, memory_mb, disk_mb) more are used, or less (-1)."""
        known = self._more.get(row, (0, 0, 0))
        self._more[row] = (
            known[0] + times * amounts[0],
            known[1] + times * amounts[1],
            known[2] + times * amounts[2],
        )

    def _fits(self, kind: int, row: int, asked: int, total: int, used: int) -> bool:
        hosts = self._hosts
        column = (hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio)[kind]
        ratio = float(column[row]) or self._ratios[kind]
        return asked <= total and total * ratio - used >= asked
