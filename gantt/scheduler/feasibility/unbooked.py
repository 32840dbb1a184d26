"""Which hosts can take an instance by their reports, where inventories do not decide.

Amounts by Nova's old rules for memory, VCPUs and disk; traits and aggregates as
required by the pre-filters and the flavor, which the search would check otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gantt.model.requests import CandidateRequest, Labels
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.hosts import Hosts, Taken
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import NO_ROW, Bools, Floats
from gantt.state.state import State


def with_room(hosts: Hosts, taken: Taken, options: SchedulerOptions) -> Bools:
    """bool[n]: room for ``taken``; a host that reports no allocation ratio has the
    initial one, and one that never reported has no room."""
    ratio = amounts.reported_or
    found: Bools = hosts.has_state & amounts.has_ram(
        hosts,
        ratio(hosts.ram_ratio, options.initial_ram_allocation_ratio),
        taken.memory_mb,
    )
    found &= amounts.has_vcpus(
        hosts, ratio(hosts.cpu_ratio, options.initial_cpu_allocation_ratio), taken.vcpus
    )
    found &= amounts.has_disk(
        hosts,
        ratio(hosts.disk_ratio, options.initial_disk_allocation_ratio),
        taken.disk_mb,
    )
    return found


def lacks(
    hosts: Hosts, taken: Taken, options: SchedulerOptions
) -> dict[str, tuple[int, Floats]]:
    """Amount -> (the requested amount, float64[n]: the most that a host has left of it,
    at most its total); nothing where a host never reported."""
    ratio = amounts.reported_or
    cpus = ratio(hosts.cpu_ratio, options.initial_cpu_allocation_ratio)
    ram = ratio(hosts.ram_ratio, options.initial_ram_allocation_ratio)
    disk = ratio(hosts.disk_ratio, options.initial_disk_allocation_ratio)
    found = {
        "vcpus": (taken.vcpus, amounts.vcpus_left(hosts, cpus)),
        "memory_mb": (taken.memory_mb, amounts.ram_left(hosts, ram)),
        "disk_mb": (taken.disk_mb, amounts.disk_left(hosts, disk)),
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
