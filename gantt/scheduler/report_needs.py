"""What the enabled filters and weighers read, in terms of what hosts report.

Separate from the contract, which speaks of columns of ``Hosts``: most of these come
from a field of a report, some from services and claims, which no host reports.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gantt.model.needs import METRICS, REPORT_ALSO, Needs, needs_of
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.declared_reads import FACTOR
from gantt.scheduler.plugins.policy import Policy

_FREE_DISK: Final = ("free_disk_gb", "disk_available_least")
_TOPOLOGY: Final = ("numa_topology", "pci_stats", "obeys_claims")
REPORTED: Final[dict[str, tuple[str, ...]]] = {
    "has_state": (*_FREE_DISK, "vcpus", "memory_mb"),
    "vcpus_total": ("vcpus",),
    "total_ram_mb": ("memory_mb",),
    "total_disk_gb": ("local_gb",),
    "vcpus_used": ("vcpus_used",),
    "reported_vcpus_used": ("vcpus_used",),
    "free_ram_mb": ("free_ram_mb", "memory_mb_used"),
    "reported_free_ram_mb": ("free_ram_mb", "memory_mb_used"),
    "free_disk_mb": _FREE_DISK,
    "reported_free_disk_mb": _FREE_DISK,
    "num_instances": ("stats.num_instances",),
    "reported_instances": ("stats.num_instances",),
    "num_io_ops": ("stats.io_workload",),
    "reported_io_ops": ("stats.io_workload",),
    "failed_builds": ("stats.failed_builds",),
    "hypervisor_version": ("hypervisor_version",),
    "cpu_ratio": ("cpu_allocation_ratio",),
    "ram_ratio": ("ram_allocation_ratio",),
    "disk_ratio": ("disk_allocation_ratio",),
    "pci_free": ("pci_stats",),
    "topology": _TOPOLOGY,
    "instances": ("instances",),
}
"""Column of ``Hosts`` -> the fields of a report that it is made of. Others come from
services, claims and the books."""


@lru_cache(maxsize=4)
def needs(policy: Policy, has_chooser: bool = False) -> Needs:
    """What hosts are to report under ``policy``. ``has_chooser``: its driver is of
    another package, which reads what it wants. Raises Refused for ``report_also``."""
    options = policy.options
    readers = {one.name: _of(one, options) for one in policy.filters}
    readers |= {one.name: _of(one, options) for one in policy.weighers}
    if has_chooser:
        readers[options.driver] = None
    if options.report_also:
        readers[REPORT_ALSO] = options.report_also
    return needs_of(readers)


def _of(one: Filter | Weigher, options: SchedulerOptions) -> tuple[str, ...] | None:
    if one.cacheable is None:
        return None
    found: list[str] = []
    for need in one.cacheable.needs:
        if need == f"{FACTOR}{METRICS}" and one.reads_metrics_of_options:
            found += (f"{METRICS}.{name}" for name in options.metrics_weight_setting)
        elif need.startswith(FACTOR):
            found.append(need.removeprefix(FACTOR))
        else:
            found += REPORTED.get(need, ())
    return tuple(found)
