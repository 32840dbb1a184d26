"""A fair split of the room that several flavors share: max-min fair, by weights.

The level of all flavors, instances by weight, rises together; one for which nothing is
left stops, the others go on. Instances go first where they cost the others the least,
so that flavors which need different things share a host. That is a plan of what can be
launched, not always the best one: ``level_bound`` says how far it is from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.capacity.flavor_room import FlavorRoom
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.blocks import free
from gantt.scheduler.pauses import Pause, never
from gantt.state.column import Bools, Floats, Int64s
from gantt.state.state import State

# The share of what seems to be left that one round gives away: less than all, because
# what one flavor takes is not known to the others before.
_PACE: Final = 0.8
_STEP_HOSTS: Final = 1_024


class FlavorOnHost(Struct, frozen=True):
    """``count`` instances of the flavor with that number on the host at ``row``."""

    flavor: int
    row: int
    count: int


class FairDivision(Struct, frozen=True, eq=False):
    """``rooms``: by flavor, what each took; ``alone``: int64[n] each, what would fit
    without the others; ``plan``: in an order in which it can be launched. ``is_cut``:
    the steps ended before nothing fitted."""

    rooms: tuple[FlavorRoom, ...]
    alone: tuple[Int64s, ...]
    plan: tuple[FlavorOnHost, ...]
    level: float
    level_bound: float
    is_cut: bool = False


def divide(
    state: State,
    feasible: Sequence[FeasibleHosts],
    weights: Sequence[float],
    driver: Driver,
    together: Together,
    *,
    budget: int | None = None,
    steps: Budget | None = None,
    hosts: Bools | None = None,
    pause: Pause = never,
) -> FairDivision:
    """Instances for each of ``feasible``, in proportion to ``weights``. ``together``:
    what was taken before. ``hosts``: bool[hosts], by row, those to use; None: all.
    ``steps``: each compares a flavor with another on 1,024 hosts; None: any number.
    ``pause``: wherever others may write meanwhile, which this does not see. Pure and
    without chance: the same State gives the same plan. Raises Moved."""
    alone, rooms = [], []
    for one in feasible:
        allowed = None if hosts is None else hosts[one.hosts.rows]
        by_itself = FlavorRoom(
            state, one, Together(state, pause), Budget(budget), driver, allowed
        )
        alone.append(by_itself.take(by_itself.room()))
        pause()
        rooms.append(FlavorRoom(state, one, together, Budget(budget), driver, allowed))
    bound = _bound(state, rooms, alone, weights, together, hosts)
    pause()
    filling = _Filling(rooms, alone, weights, steps or Budget(), pause)
    is_cut = not filling.run()
    levels = [
        float(room.counts.sum()) / weight
        for room, one, weight in zip(rooms, alone, weights, strict=True)
        if one.any()
    ]
    level = min(levels, default=0.0)
    plan = tuple(filling.plan)
    return FairDivision(
        tuple(rooms), tuple(alone), plan, level, max(level, bound), is_cut
    )


def _bound(
    state: State,
    rooms: Sequence[FlavorRoom],
    alone: Sequence[Int64s],
    weights: Sequence[float],
    together: Together,
    hosts: Bools | None,
) -> float:
    """No split has a higher level: no flavor gets more than alone, and all together not
    more of a class than is left of it anywhere."""
    pairs = list(zip(rooms, alone, weights, strict=True))
    levels = [float(one.sum()) / weight for _, one, weight in pairs if one.any()]
    asked: dict[str, float] = {}
    for room, one, weight in pairs:
        for name, amount in room.amounts.items() if one.any() else ():
            asked[name] = asked.get(name, 0.0) + amount * weight
    every = np.arange(state.providers.height, dtype=np.intp)
    if hosts is not None and any(room.is_searched.any() for room in rooms):
        asked = {}  # providers beside the hosts may give, to these or to others
    elif hosts is not None:
        known = state.fleet.hosts.provider[: len(hosts)][hosts]
        every = np.unique(known[known >= 0]).astype(np.intp)
    for name, per_level in asked.items():
        has, left = free(state, name, every)
        taken = together.of_class(name, every)
        room_left = left if taken is None else np.maximum(left - taken, 0)
        if has.any():
            levels.append(float(room_left.sum()) / per_level)
    return min(levels, default=0.0)


class _Filling:
    """``plan``: what was placed so far."""

    def __init__(
        self,
        rooms: Sequence[FlavorRoom],
        alone: Sequence[Int64s],
        weights: Sequence[float],
        steps: Budget,
        pause: Pause,
    ) -> None:
        self._pause, self._steps = pause, steps
        self.plan: list[FlavorOnHost] = []
        self._rooms, self._alone, self._weights = rooms, alone, weights
        self._placed = [0] * len(rooms)

    def run(self) -> bool:
        """Until nothing fits; whether the steps sufficed for that."""
        try:
            self._fill()
        except Spent:
            return False
        return True

    def _fill(self) -> None:
        active = list(range(len(self._rooms)))
        while active:
            left = {number: self._room(number) for number in active}
            totals = {number: int(room.sum()) for number, room in left.items()}
            active = [number for number in active if totals[number]]
            wanted = self._round(active, totals)
            # The scarcest first, before others stand in its way.
            order = sorted(
                wanted, key=lambda one: (totals[one] / self._weights[one], one)
            )
            for number in order:
                others = [one for one in active if one != number]
                self._place(number, wanted[number], others)
                self._pause()

    def _room(self, number: int) -> Int64s:
        return self._rooms[number].room(self._alone[number])

    def _round(self, active: list[int], totals: dict[int, int]) -> dict[int, int]:
        """How many of each to place next: towards a common level, at least one."""
        if not active:
            return {}
        weights, placed = self._weights, self._placed
        level = min(placed[one] / weights[one] for one in active)
        pace = _PACE / sum(weights[one] / totals[one] for one in active)
        wanted = {
            one: min(int(weights[one] * (level + pace)) - placed[one], totals[one])
            for one in active
        }
        wanted = {one: count for one, count in wanted.items() if count > 0}
        if wanted:
            return wanted
        # Those with one more each; the lowest goes on until another one is.
        levels = {one: (placed[one] + 1) / weights[one] for one in active}
        lowest = min(active, key=lambda one: (levels[one], one))
        next_level = min(
            (level for one, level in levels.items() if one != lowest),
            default=levels[lowest],
        )
        until = int(min(weights[lowest] * next_level, placed[lowest] + totals[lowest]))
        most = int(_PACE * totals[lowest])
        return {lowest: max(1, min(until - placed[lowest], most))}

    def _place(self, number: int, wanted: int, others: list[int]) -> None:
        """Up to ``wanted`` of one flavor, where they cost the others the least."""
        room, alone = self._rooms[number], self._alone[number]
        while wanted > 0:
            self._steps.spend((1 + len(others)) * -(-len(alone) // _STEP_HOSTS))
            left = self._room(number)
            if not left.any():
                return
            counts = _first(*self._cheapest(number, left, others, wanted), wanted)
            got = room.take(counts, alone)
            taken = int(got.sum())
            wanted -= taken
            self._placed[number] += taken
            self.plan += [
                FlavorOnHost(number, int(room.rows[at]), int(got[at]))
                for at in np.flatnonzero(got).tolist()
            ]

    def _cheapest(
        self, number: int, left: Int64s, others: list[int], wanted: int
    ) -> tuple[Int64s, Floats]:
        """int64[n]: how many to place on each host, one, half or all of what fits,
        whichever costs least by instance; float64[n]: what that costs."""
        best = np.minimum(left, wanted)
        if not others:
            return best, np.zeros(len(left))
        rooms = {}
        for other in others:
            rooms[other] = self._room(other)
            self._pause()
        costs = self._cost(number, best, rooms)
        for tried in (np.minimum((left + 1) // 2, wanted), np.minimum(left, 1)):
            cost = self._cost(number, tried, rooms)
            is_better = cost < costs
            best = np.where(is_better, tried, best)
            costs = np.where(is_better, cost, costs)
        return best, costs

    def _cost(self, number: int, counts: Int64s, rooms: dict[int, Int64s]) -> Floats:
        """float64[n]: the share of what is left to the others, by their weights, that
        an instance costs if so many are placed on each host."""
        mine = self._rooms[number]
        height = int(mine.rows.max(initial=-1)) + 1
        found: Floats = np.zeros(len(counts))
        for other, room in rooms.items():
            theirs, total = self._rooms[other], int(room.sum())
            if not total:
                continue
            self._pause()
            size = max(height, int(theirs.rows.max(initial=-1)) + 1)
            on_row = np.zeros(size, np.int64)
            on_row[mine.rows] = counts
            here = on_row[theirs.rows]
            amounts = {name: here * one for name, one in mine.amounts.items()}
            after = np.minimum(theirs.room_after(amounts), room)
            fluid = here * self._ratio(number, other, size)[theirs.rows]
            after = np.where(
                theirs.is_searched, np.maximum(room - np.ceil(fluid), 0), after
            )
            lost = np.zeros(size)
            lost[theirs.rows] = (room - after) * (self._weights[other] / total)
            found += lost[mine.rows]
        return found / np.maximum(counts, 1)

    def _ratio(self, number: int, other: int, size: int) -> Floats:
        """float64[rows]: how many of the other an instance stands for."""
        found = np.zeros(size)
        theirs = np.zeros(size)
        theirs[self._rooms[other].rows] = self._alone[other]
        mine = np.zeros(size)
        mine[self._rooms[number].rows] = self._alone[number]
        np.divide(theirs, mine, out=found, where=mine > 0)
        return found


def _first(counts: Int64s, costs: Floats, wanted: int) -> Int64s:
    """int64[n]: ``wanted`` of ``counts``, the cheapest hosts first, then by row."""
    order = np.argsort(np.where(counts > 0, costs, np.inf), kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    found = np.zeros_like(counts)
    found[order] = np.clip(wanted - before, 0, counts[order])
    return found
