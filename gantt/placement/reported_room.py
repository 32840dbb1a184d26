"""Hosts without inventory: the one place that says whether their own amounts suffice.

The old Ram, Core and Disk rules of Nova, in float64. Filters ask it of arrays, and the
committer asks it again of single hosts before a claim is written. A large allocation
ratio takes an amount out of the decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gantt.state.column import Floats, Int64s
from gantt.state.view import HostAmounts, View


def fits(
    total: int | Int64s, used: int | Int64s, ratio: float | Floats, wanted: int
) -> Any:
    """bool, or bool[n]: ``wanted`` is left of ``total`` times ``ratio``, and no more
    than ``total``: an instance is never overcommitted against itself."""
    return (total * ratio - used >= wanted) & (total >= wanted)


def fits_vcpus(
    total: int | Int64s, used: int | Int64s, ratio: float | Floats, wanted: int
) -> Any:
    """Whether the VCPUs fit, as ``fits`` says; a host that reports none at all does not
    count them."""
    return fits(total, used, ratio, wanted) | (total == 0)


def left(
    total: Int64s, used: Int64s, ratio: float | Floats, *, may_be_untold: bool = False
) -> Floats:
    """float64[n]: the most that ``fits`` would let pass. ``may_be_untold``: no limit
    where there is none at all, as ``fits_vcpus`` has it."""
    most = np.minimum(total * ratio - used, total)
    found: Floats = np.where(total == 0, np.inf, most) if may_be_untold else most
    return found


def has_room(view: View, row: int, wanted: HostAmounts) -> bool:
    """Whether ``wanted`` is left on the host at ``row``."""
    hosts = view.state.fleet.hosts
    vcpus, memory_mb, disk_mb = wanted
    more = view.on_hosts.get(row, (0, 0, 0))
    cpus, cpus_used = int(hosts.vcpus_total[row]), int(hosts.vcpus_used[row]) + more[0]
    ram = int(hosts.total_ram_mb[row])
    ram_used = ram - int(hosts.free_ram_mb[row]) + more[1]
    disk = 1024 * int(hosts.total_disk_gb[row])
    disk_used = disk - int(hosts.free_disk_mb[row]) + more[2]
    return bool(
        fits_vcpus(cpus, cpus_used, float(hosts.cpu_ratio[row]), vcpus)
        and fits(ram, ram_used, float(hosts.ram_ratio[row]), memory_mb)
        and fits(disk, disk_used, float(hosts.disk_ratio[row]), disk_mb)
    )
