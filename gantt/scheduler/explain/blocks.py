"""What blocks one more instance, and on how many hosts.

Separate from counting, which determines how many instances each limit allows: only at
the end is it known which limit stopped a host. A host that is full already, or too
small, and that passes everything else, is reported like one that fills up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from gantt.placement import group_rules
from gantt.placement.candidates.search_answer import Rows
from gantt.placement.candidates.survey import AnySurvey
from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, all_of
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.feasibility.candidate_sources import AMOUNTS, BOOKS, HostMask
from gantt.scheduler.hosts import Hosts
from gantt.state.column import NO_ROW, Bools, Int64s
from gantt.state.state import State

RULES = {
    group_rules.AFFINITY: "ServerGroupAffinityFilter",
    group_rules.ANTI_AFFINITY: "ServerGroupAntiAffinityFilter",
}
OFF = "disabled or forced down"
MOST = "capacity_per_host"
BUDGET = "search_budget"
FITS = "topology_fits"
# Options at which counting ends: more may fit.
ENDS = frozenset((MOST, BUDGET, FITS))
_MOST_FREE = 2.0**52
_CLASSES = {"vcpus": "VCPU", "memory_mb": "MEMORY_MB", "disk_mb": "DISK_GB"}


class Blocks:
    """Hosts are given by their places in ``feasible``."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Bools, Int64s]] = []

    def add(self, name: str, mask: Bools, counts: Int64s) -> None:
        """``name`` blocks those of ``mask`` (bool[n]) that have exactly ``counts``
        (int64[n]) in the end: others were stopped before."""
        if mask.any():
            self._found.append((name, mask, counts))

    def add_at(self, name: str, places: list[int], counts: Int64s) -> None:
        """Counts what blocks at the ``places`` alone."""
        mask = np.zeros(len(counts), np.bool_)
        mask[places] = True
        self.add(name, mask, counts)

    def by_name(self, counts: Int64s) -> Counter[str]:
        """How many hosts each blocks, by the final ``counts`` (int64[n])."""
        masks: dict[str, Bools] = {}
        for name, mask, then in self._found:
            blocked = mask & (then == counts)
            masks[name] = masks[name] | blocked if name in masks else blocked
        return Counter({name: int(np.count_nonzero(m)) for name, m in masks.items()})


def by_count(*parts: Counter[str]) -> dict[str, int]:
    """The most hosts first; without causes that block none."""
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part)
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return {name: count for name, count in ordered if count}


def full(
    state: State, feasible: FeasibleHosts, again: tuple[Filter, ...]
) -> Counter[str]:
    """What blocks hosts that are full already: those that fail only amounts, filters
    applied ``again`` before each instance, or rules of server groups."""
    fills = {BOOKS, AMOUNTS, *RULES.values(), *(one.name for one in again)}
    others = [one for one in feasible.masks if one.name not in fills]
    by_fill = [one for one in feasible.masks if one.name in fills]
    size = len(feasible.all_rows)
    at = np.flatnonzero(all_of(others, size) & ~all_of(by_fill, size))
    found: Counter[str] = Counter()
    if len(at):
        hosts = Hosts(state.fleet, feasible.all_rows[at])
        for one in by_fill:
            removed = HostMask(one.name, ~one.mask[at])
            for name, mask in _classes(state, feasible, hosts, removed):
                found[name] += int(np.count_nonzero(mask))
    return found


def _classes(
    state: State, feasible: FeasibleHosts, hosts: Hosts, removed: HostMask
) -> Iterator[tuple[str, Bools]]:
    """(name, bool[n]): what removed hosts lack; of amounts, the resource classes that
    they have too little of. A host without any is not full."""
    if removed.name == AMOUNTS:
        yield from short(hosts, feasible)
    elif removed.name == BOOKS:
        known = removed.mask & (hosts.provider != NO_ROW)
        providers = hosts.provider[known].astype(np.intp)
        masks: dict[str, Bools] = {}
        for one in feasible.surveys:
            meets = amounts.labeled(state, hosts, one.request)[known]
            for name, amount in amounts_of(one).items():
                has, left = free(state, name, providers)
                mask = masks.setdefault(name, np.zeros(len(hosts), np.bool_))
                mask[known] |= meets & has & (left < amount)
        yield from masks.items()
    else:
        yield removed.name, removed.mask


def short(hosts: Hosts, feasible: FeasibleHosts) -> Iterator[tuple[str, Bools]]:
    """(class, bool[n]): which report too little of it for one more."""
    lacks = amounts.lacks(hosts, feasible.job.taken)
    for name, (asked, left) in lacks.items():
        yield _CLASSES[name], hosts.has_state & (left < asked)


def amounts_of(survey: AnySurvey) -> Counter[str]:
    """What one instance takes in all, by class."""
    found: Counter[str] = Counter()
    for group in survey.request.groups:
        found.update(group.resources)
    return found


def free(state: State, name: str, providers: Rows) -> tuple[Bools, Int64s]:
    """bool[n]: which have inventory of a class; int64[n]: how much each has left."""
    has = np.zeros(len(providers), np.bool_)
    left = np.zeros(len(providers), np.int64)
    index = state.classes.index_of(name)
    table = None if index is None else state.inventories.table(index)
    if table is not None:
        slots = table.slots_of(providers)
        has = slots != NO_ROW
        capacity, used = table.amounts(slots[has])
        most = np.floor(capacity - used)
        left[has] = np.clip(most, 0, _MOST_FREE).astype(np.int64)
    return has, left
