"""Memory, VCPUs and disk by host reports alone: Nova's rules from before Placement.

Used by the Ram, Core and Disk filters, and by the cycle where inventories do not decide
(``use_placement``): there ``labeled`` checks the traits and aggregates, too, which the
search would check otherwise. The committer checks single hosts with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gantt.model.requests import CandidateRequest, Labels
from gantt.model.spec import RequestSpec
from gantt.placement.reported_room import fits, fits_vcpus, left
from gantt.scheduler.hosts import Hosts, Taken
from gantt.state.column import NO_ROW, Bools, Floats, Int64s
from gantt.state.state import State


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


def rooms(hosts: Hosts) -> dict[str, tuple[Int64s, Int64s]]:
    """Class -> two int64[k]: what hosts report as free, and the most for one instance;
    of those that report anything of it."""
    disk_mb = 1024 * hosts.total_disk_gb
    of_cpus, of_ram, of_disk = hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio
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


def with_room(hosts: Hosts, taken: Taken) -> Bools:
    """bool[n]: room for ``taken``; a host that never reported has none."""
    of_cpus, of_ram, of_disk = hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio
    found: Bools = hosts.has_state & has_ram(hosts, of_ram, taken.memory_mb)
    found &= has_vcpus(hosts, of_cpus, taken.vcpus)
    found &= has_disk(hosts, of_disk, taken.disk_mb)
    return found


def lacks(hosts: Hosts, taken: Taken) -> dict[str, tuple[int, Floats]]:
    """Amount -> (the requested amount, float64[n]: the most that a host has left of it,
    at most its total); nothing where a host never reported."""
    of_cpus, of_ram, of_disk = hosts.cpu_ratio, hosts.ram_ratio, hosts.disk_ratio
    found = {
        "vcpus": (taken.vcpus, vcpus_left(hosts, of_cpus)),
        "memory_mb": (taken.memory_mb, ram_left(hosts, of_ram)),
        "disk_mb": (taken.disk_mb, disk_left(hosts, of_disk)),
    }
    known = hosts.has_state
    return {
        name: (asked, np.where(known, most, 0.0))
        for name, (asked, most) in found.items()
    }


def labeled(state: State, hosts: Hosts, question: CandidateRequest) -> Bools:
    """bool[n]: which have the traits and are in the aggregates that ``question``
    requires, for the host as a whole and for each group."""
    found = np.ones(len(hosts), np.bool_)
    for traits in (question.root_traits, *(group.traits for group in question.groups)):
        if traits:
            found &= _meets(hosts, traits, lambda names: _bearing(state, hosts, names))
    for group in question.groups:
        if group.member_of:
            found &= _meets(hosts, group.member_of, lambda names: _inside(hosts, names))
        if group.in_tree is not None:
            row = hosts.fleet.hosts.row_of_uuid(group.in_tree)
            found &= hosts.rows == (NO_ROW if row is None else row)
    return found


def _meets(
    hosts: Hosts, labels: Labels, having: Callable[[Iterable[str]], Bools]
) -> Bools:
    found = np.ones(len(hosts), np.bool_)
    for names in labels.required:
        found &= having(names)
    if labels.forbidden:
        found &= ~having(labels.forbidden)
    return found


def _bearing(state: State, hosts: Hosts, names: Iterable[str]) -> Bools:
    """bool[n]: whose provider has one of the traits; False without a provider."""
    indexes = [
        index for name in names if (index := state.traits.index_of(name)) is not None
    ]
    found = np.zeros(len(hosts), np.bool_)
    known = hosts.provider != NO_ROW
    bears = state.provider_traits.any_of(indexes, state.providers.height)
    found[known] = bears[hosts.provider[known]]
    return found


def _inside(hosts: Hosts, uuids: Iterable[str]) -> Bools:
    index = hosts.fleet.aggregates.index
    return hosts.in_any(index[uuid] for uuid in uuids if uuid in index)
