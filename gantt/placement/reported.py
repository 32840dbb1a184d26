"""Hosts without inventory: the one place that says whether their own amounts suffice.

The old Ram, Core and Disk rules of Nova, in float64. Filters ask it of arrays, and the
committer asks it again of single hosts before a claim is written. A large allocation
ratio takes an amount out of the decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gantt.model.commands import Claim
from gantt.state.column import Floats, Int64s
from gantt.state.host_table import Hosts


def fits(
    total: int | Int64s, used: int | Int64s, ratio: float | Floats, wanted: int
) -> Any:
    """bool, or bool[n]: ``wanted`` is left of ``total`` times ``ratio``, and no more
    than ``total``: an instance is never overcommitted against itself."""
    return (total * ratio - used >= wanted) & (total >= wanted)


def fits_vcpus(
    total: int | Int64s, used: int | Int64s, ratio: float | Floats, wanted: int
) -> Any:
    """As ``fits``; a host that reports no VCPUs at all does not count them."""
    return fits(total, used, ratio, wanted) | (total == 0)


def left(
    total: Int64s, used: Int64s, ratio: float | Floats, *, may_be_untold: bool = False
) -> Floats:
    """float64[n]: the most that ``fits`` would let pass. ``may_be_untold``: no limit
    where there is none at all, as ``fits_vcpus`` has it."""
    most = np.minimum(total * ratio - used, total)
    found: Floats = np.where(total == 0, np.inf, most) if may_be_untold else most
    return found


class Room:
    """Amounts that one command adds to hosts while it is planned, by host row. What it
    takes away counts no longer."""

    def __init__(self, hosts: Hosts, command: Claim) -> None:
        self._hosts = hosts
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
        return tuple(float(column[row]) for column in reported)
