"""Memory, VCPUs and disk by host reports alone: Nova's rules from before Placement.

Used by the Ram, Core and Disk filters, and by the cycle where inventories do not decide
(``use_placement``); the committer checks single hosts with the same functions.
"""

from __future__ import annotations

import numpy as np

from gantt.model.spec import RequestSpec
from gantt.placement.reported import fits, fits_vcpus, left
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Bools, Floats, Int64s


def reported_or(ratios: Floats, fallback: float) -> Floats:
    """float64[n]: the allocation ratio that each host reports, else ``fallback``."""
    found: Floats = np.where(ratios != 0.0, ratios, fallback)
    return found


def has_ram(hosts: Hosts, ratio: float | Floats, memory_mb: int) -> Bools:
    """bool[n]: room for ``memory_mb``."""
    total = hosts.total_ram_mb
    found: Bools = fits(total, total - hosts.free_ram_mb, ratio, memory_mb)
    return found


def has_vcpus(hosts: Hosts, ratio: float | Floats, vcpus: int) -> Bools:
    """bool[n]: room for ``vcpus``."""
    found: Bools = fits_vcpus(hosts.vcpus_total, hosts.vcpus_used, ratio, vcpus)
    return found


def has_disk(hosts: Hosts, ratio: float | Floats, disk_mb: int) -> Bools:
    """bool[n]: room for ``disk_mb``."""
    total_mb = 1024 * hosts.total_disk_gb
    found: Bools = fits(total_mb, total_mb - hosts.free_disk_mb, ratio, disk_mb)
    return found


def ram_left(hosts: Hosts, ratio: float | Floats) -> Floats:
    """float64[n]: the most MB that ``has_ram`` would let pass."""
    total = hosts.total_ram_mb
    return left(total, total - hosts.free_ram_mb, ratio)


def vcpus_left(hosts: Hosts, ratio: float | Floats) -> Floats:
    """float64[n]: the most that ``has_vcpus`` would let pass."""
    return left(hosts.vcpus_total, hosts.vcpus_used, ratio, may_be_untold=True)


def disk_left(hosts: Hosts, ratio: float | Floats) -> Floats:
    """float64[n]: the most MB that ``has_disk`` would let pass."""
    total_mb = 1024 * hosts.total_disk_gb
    return left(total_mb, total_mb - hosts.free_disk_mb, ratio)


def rooms(hosts: Hosts, options: SchedulerOptions) -> dict[str, tuple[Int64s, Int64s]]:
    """Class -> two int64[k]: what hosts report as free, and the most for one instance;
    of those that report anything of it."""
    disk_mb = 1024 * hosts.total_disk_gb
    of_cpus, of_ram, of_disk = (
        reported_or(hosts.cpu_ratio, options.initial_cpu_allocation_ratio),
        reported_or(hosts.ram_ratio, options.initial_ram_allocation_ratio),
        reported_or(hosts.disk_ratio, options.initial_disk_allocation_ratio),
    )
    ram, vcpus = hosts.total_ram_mb, hosts.vcpus_total
    told = {
        "VCPU": (vcpus, vcpus * of_cpus - hosts.vcpus_used, 1),
        "MEMORY_MB": (ram, ram * of_ram - (ram - hosts.free_ram_mb), 1),
        "DISK_GB": (disk_mb, disk_mb * of_disk - (disk_mb - hosts.free_disk_mb), 1024),
    }
    found = {}
    for name, (total, free, unit) in told.items():
        is_reported = hosts.has_state & (total > 0) & (free >= unit)
        room = np.floor(free[is_reported] / unit).astype(np.int64)
        found[name] = (room, (total[is_reported] // unit).astype(np.int64))
    return found


def wanted_disk_mb(spec: RequestSpec) -> int:
    """What an instance of ``spec`` takes of a host's disk, swap included."""
    return spec.disk_mb + spec.flavor.swap
