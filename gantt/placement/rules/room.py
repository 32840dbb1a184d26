"""Is there room on a host without inventory? Its own columns decide (``reported``).

What the same command put there already counts, and what it takes away does not.
"""

from __future__ import annotations

from gantt.model.commands import Claim
from gantt.placement.reported import fits, fits_vcpus
from gantt.state.host_table import Hosts


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
        ram = int(hosts.total_ram_mb[row])
        ram_used = ram - int(hosts.free_ram_mb[row]) + more[1]
        disk = 1024 * int(hosts.total_disk_gb[row])
        disk_used = disk - int(hosts.free_disk_mb[row]) + more[2]
        cpus, cpus_used = int(hosts.vcpus_total[row]), int(hosts.vcpus_used[row])
        cpu_ratio, ram_ratio, disk_ratio = self._ratios_of(row)
        return bool(
            fits_vcpus(cpus, cpus_used + more[0], cpu_ratio, vcpus)
            and fits(ram, ram_used, ram_ratio, memory_mb)
            and fits(disk, disk_used, disk_ratio, disk_mb)
        )

    def add(
        self, row: int, amounts: tuple[int, int, int] | None = None, times: int = 1
    ) -> None:
        """``amounts`` (vcpus, memory_mb, disk_mb) more are used, or less (-1); None:
        those of one instance of the command."""
        amounts = self._asked if amounts is None else amounts
        known = self._more.get(row, (0, 0, 0))
        self._more[row] = (
            known[0] + times * amounts[0],
            known[1] + times * amounts[1],
            known[2] + times * amounts[2],
        )

    def _ratios_of(self, row: int) -> tuple[float, ...]:
        hosts = self._hosts
        reported = (hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio)
        return tuple(
            float(column[row]) or initial
            for column, initial in zip(reported, self._ratios, strict=True)
        )
