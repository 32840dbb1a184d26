"""The smallest change of a refused request that would have found hosts for all of it.

Small is, in this order: one amount lowered, by as small a share of it as will do; fewer
instances; one constraint left out, by kind as in ``concessions.ORDER``; one filter
disabled, which an operator must do; and where no single change helps, an amount lowered
and a hint or group left out, or a filter disabled. Each is tried before it is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.model.diagnosis import Relaxation
from gantt.placement.candidates import rooms
from gantt.placement.candidates.combination import Spent
from gantt.placement.candidates.rooms import Rooms
from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.concessions import amounts as asked_amounts
from gantt.scheduler.explain.concessions import concessions
from gantt.scheduler.explain.topology_concessions import steps_of
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.feasibility.candidate_sources import REPORT_SOURCE
from gantt.scheduler.hosts import Hosts

_MORE: Final = 2
_PINNED = "PCPU"
_READ_BY_FILTERS: Final = ("hint", "server_group")
_NEEDED: Final = {"VCPU": "CPU", _PINNED: "CPU", "MEMORY_MB": "memory"}


class SmallestChange(Struct, frozen=True):
    """``changes``: what to give up, one change or two together; none: nothing was
    found. ``is_truncated``: the search ended at ``change_budget`` before that was
    certain, or others wrote meanwhile."""

    changes: tuple[Relaxation, ...] = ()
    is_truncated: bool = False

    @property
    def text(self) -> str | None:
        return ", and ".join(one.text for one in self.changes) or None


def smallest(
    trials: Trials, feasible: FeasibleHosts | None, picked: int = 0
) -> SmallestChange:
    """``feasible``: of the refused request, None where there was none; ``picked``
    instances of it had a host."""
    quest, is_truncated = _Quest(trials, feasible), False
    try:
        quest.search(picked)
    except Spent:
        is_truncated = True
    if not trials.has_moved:
        return SmallestChange(quest.best, is_truncated)
    return SmallestChange(quest.best if trials.still_help(quest.best) else (), True)


class _Quest:
    def __init__(self, trials: Trials, feasible: FeasibleHosts | None) -> None:
        self.best: tuple[Relaxation, ...] = ()
        self._trials, self._feasible = trials, feasible
        self._amounts = asked_amounts(trials.request.spec)
        self._steps = steps_of(trials.request.spec)
        self._rooms: dict[str, Rooms] = {}

    def search(self, picked: int) -> None:
        """Keep the smallest that helps in ``best``."""
        fewer = self._fewer(picked)
        if fewer is not None:
            self.best = (fewer,)
        self._lower()
        if self.best:
            return
        left_out = [*self._optional(concessions(self._trials.request))]
        filters = [*self._filters()]
        for one in (*left_out, *filters):
            if self._trials.helps(one):
                self.best = (one,)
                return
        # A filter that reads one of these cannot be disabled while it is asked for.
        read = [one for one in left_out if one.kind in _READ_BY_FILTERS]
        for one in (*read, *filters):
            self._lower(one)
            if self.best:
                return

    def _optional(self, found: list[Relaxation]) -> Iterator[Relaxation]:
        """All but CPUs and memory of which nothing would be left: without these, what
        is asked for is no instance."""
        often = Counter(_NEEDED.get(one.names[0]) for one in self._amounts)
        for one in found:
            kind = _NEEDED.get(one.names[0]) if one.kind == "amount" else None
            if kind is None or often[kind] > 1:
                yield one

    def _fewer(self, picked: int) -> Relaxation | None:
        """The change to as many instances as had a host, or a few more: fewer of them
        may be picked in another order."""
        count = self._trials.request.count
        if not 0 < picked < count:
            return None
        for fewer in range(min(picked + _MORE, count - 1), picked - 1, -1):
            one = Relaxation("instances", None, ("instances",), count, fewer)
            if self._trials.helps(one):
                return one
        return None

    def _filters(self) -> Iterator[Relaxation]:
        """Those that removed a host, or may have while instances were placed."""
        passed_by_all = set()
        if self._feasible is not None:
            passed_by_all = {one.name for one in self._feasible.masks if one.mask.all()}
        for one in self._trials.driver.policy.filters:
            if one.name not in passed_by_all or not one.once:
                disabled = Relaxation("filter", None, (one.name,))
                if self._trials.is_allowed(disabled):
                    yield disabled

    # -- amounts ------------------------------------------------------------------

    def _lower(self, *also: Relaxation) -> None:
        """The smallest reduction of an amount that helps, together with ``also``."""
        best_share = 1.0
        for one in self._amounts if self._trials.source.is_lasting else ():
            asked = one.amount or 0
            if asked < 2 * self._step(one):
                continue
            if self._is_telling(one) and not self._drops(one, also):
                continue

            def found(lowered: int, one: Relaxation = one, asked: int = asked) -> None:
                nonlocal best_share
                best_share = (asked - lowered) / asked
                self.best = (replace(one, lowered=lowered), *also)

            def helps(lowered: int, one: Relaxation = one) -> bool:
                return self._trials.helps(replace(one, lowered=lowered), *also)

            # The remaining share is then larger than that of any other class so far.
            floor = int(asked * (1 - best_share))
            while (asked - floor - 1) / asked >= best_share:
                floor += 1
            self._lower_one(one, floor, helps, found)

    def _lower_one(
        self,
        one: Relaxation,
        floor: int,
        helps: Callable[[int], bool],
        found: Callable[[int], None],
    ) -> None:
        top = (one.amount or 0) - 1
        room = self._room(one.names[0])
        count = self._trials.request.count
        if room is not None and len(room):
            others = [
                other.amount or 0
                for other in self._amounts
                if other.names == one.names and other.suffix != one.suffix
            ]
            offsets = rooms.sums(others, count)
            self._trials.charge(len(room) * 20)
            start = room.ceiling(count, top)

            def below(top: int) -> int | None:
                self._trials.charge(len(room) * 4 * len(offsets))
                return room.below(top, start, count, offsets) if top > 0 else None

            floor = rooms.largest(below, start, floor, helps, found)
        if any(_reads_sizes(one) for one in self._trials.driver.policy.filters):
            step = self._step(one)
            _halve(
                floor // step + 1,
                top // step,
                lambda steps: helps(steps * step),
                lambda steps: found(steps * step),
            )

    def _is_telling(self, one: Relaxation) -> bool:
        """Whether requesting none of it is weaker than requesting less: not where that
        removes a group from the request with its conditions."""
        return any(
            other.suffix == one.suffix and other.names != one.names
            for other in self._amounts
        )

    def _drops(self, one: Relaxation, also: tuple[Relaxation, ...]) -> bool:
        """Whether the least of it that may be asked for helps: none, but of cells
        something."""
        if not one.suffix and one.names[0] in self._steps:
            one = replace(one, lowered=self._step(one))
        return self._trials.helps(one, *also)

    def _step(self, one: Relaxation) -> int:
        return 1 if one.suffix else self._steps.get(one.names[0], 1)

    def _room(self, name: str) -> Rooms | None:
        """What hosts, or providers in the books, have left of a class."""
        if name not in self._rooms:
            found = self._reported(name) if self._by_reports else self._booked(name)
            if found is None:
                return None
            self._rooms[name] = found
        return self._rooms[name]

    @property
    def _by_reports(self) -> bool:
        return self._trials.source is REPORT_SOURCE

    def _booked(self, name: str) -> Rooms | None:
        """Pinned CPUs may be plain ones on hosts from before PCPU."""
        state, found = self._trials.state, None
        for each in (name, "VCPU") if name == _PINNED else (name,):
            index = state.classes.index_of(each)
            table = None if index is None else state.inventories.table(index)
            if table is not None:
                slots = np.flatnonzero(table.is_live[: table.height])
                room = rooms.of_table(table, slots)
                found = room if found is None else found.with_those(room)
        return found

    def _reported(self, name: str) -> Rooms | None:
        state = self._trials.state
        hosts = Hosts(state.fleet, state.fleet.hosts.live_rows().astype(np.int64))
        kind = "VCPU" if name == _PINNED else name
        found = amounts.rooms(hosts).get(kind)
        if found is None:
            return None
        free, total = found
        ones = np.ones(len(free), np.int64)
        return Rooms(free, total, ones, ones)


def _reads_sizes(one: Filter) -> bool:
    """Whether it may check amounts itself: one without a declaration may."""
    if one.cacheable is None:
        return True
    reads = one.cacheable.reads
    return any(path == "flavor" or path.startswith(_SIZES) for path in reads)


_SIZES = ("flavor.vcpus", "flavor.memory_mb", "flavor.root_gb", "flavor.ephemeral_gb")


def _halve(
    low: int, high: int, helps: Callable[[int], bool], found: Callable[[int], None]
) -> None:
    """Where a filter decides, free amounts are no guide: any amount may be the
    largest."""
    while low <= high:
        middle = (low + high) // 2
        if helps(middle):
            found(middle)
            low = middle + 1
        else:
            high = middle - 1
