"""The answer about a fair split: of the fleet, of each zone, or of each aggregate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from gantt.model.capacity import By, FairSplit, Share, Split
from gantt.model.spec import RequestSpec
from gantt.placement import group_rules
from gantt.placement.candidates.combination import Budget
from gantt.placement.map_columns import zones_of
from gantt.scheduler.capacity.fair import FairDivision, divide
from gantt.scheduler.capacity.flavor_room import FlavorRoom
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.pauses import Pause, never, within
from gantt.state.column import Bools, Int64s
from gantt.state.state import State


class FlavorMix(Struct, frozen=True):
    """``specs``: one request for each flavor; ``weights``: one above 0 for each.
    ``default_zone``: of hosts that no aggregate gives one."""

    specs: tuple[RequestSpec, ...]
    weights: tuple[float, ...]
    by: By = "fleet"
    default_zone: str = "nova"


def fair_split(
    state: State,
    mix: FlavorMix,
    sources: Sequence[CandidateSource],
    driver: Driver,
    *,
    now: int,
    budget: int | None = None,
    pause: Pause = never,
) -> FairSplit:
    """How many of each flavor fit together. ``sources``: of the amounts, for each.
    ``pause``: wherever others may write meanwhile. Raises Invalid, NoValidHost,
    UnknownName, Moved."""
    revision = state.revision
    feasible = feasible_of(
        state, mix.specs, sources, driver, now=now, budget=budget, pause=pause
    )
    # Of amounts, what others write meanwhile may count or not.
    pause = within(state, None, pause)
    places = Localities(state, mix.default_zone)
    together, splits = Together(state, pause), []
    steps = Budget(driver.policy.options.capacity_steps)
    pause()
    for name, hosts in places.parts(mix.by):
        if mix.by == "aggregate":  # these overlap
            together = Together(state, pause)
        division = divide(
            state=state,
            feasible=feasible,
            weights=mix.weights,
            driver=driver,
            together=together,
            budget=budget,
            steps=steps,
            hosts=hosts,
            pause=pause,
        )
        splits.append(_split(state, name, division, mix, places, pause))
    return FairSplit(mix.by, tuple(splits), revision)


def feasible_of(
    state: State,
    specs: Sequence[RequestSpec],
    sources: Sequence[CandidateSource],
    driver: Driver,
    *,
    now: int,
    budget: int | None = None,
    pause: Pause = never,
) -> list[FeasibleHosts]:
    """The feasible hosts of one instance of each flavor. ``pause``: between two of
    them. Raises Invalid, NoValidHost, UnknownName, Moved."""
    found: list[FeasibleHosts] = []
    for spec, source in zip(specs, sources, strict=True):
        if found:
            within(state, None, pause)()
        one = structs.replace(group_rules.with_rule(state.fleet, spec), num_instances=1)
        found.append(
            driver.feasible_hosts(
                state, one, source, now=now, budget=Budget(budget), is_trial=True
            )
        )
    return found


class Localities:
    """Zones and host aggregates of hosts."""

    def __init__(self, state: State, default_zone: str) -> None:
        self._state = state
        rows = state.fleet.hosts.live_rows().astype(np.intp)
        height = state.fleet.hosts.height
        names, codes = zones_of(state, rows, default_zone)
        self.zone_names = names
        self.zones = np.full(height, -1, np.int64)
        self.zones[rows] = codes
        known, matrix = state.fleet.aggregates, state.fleet.hosts.aggregates
        self.aggregates: dict[str, Bools] = {}
        for uuid, index in known.index.items():
            name = known.by_uuid[uuid].name
            member = matrix.any_of((index,), height)[:height]
            before = self.aggregates.get(name)
            self.aggregates[name] = member if before is None else before | member

    def parts(self, by: By) -> Iterator[tuple[str, Bools | None]]:
        """(name, bool[hosts] by row) of each; of the fleet all."""
        if by == "zone":
            for code, name in enumerate(self.zone_names):
                mask = self.zones == code
                if mask.any():
                    yield name, mask
        elif by == "aggregate":
            yield from sorted(self.aggregates.items())
        else:
            yield "", None

    def by_zone(self, rows: Int64s, counts: Int64s) -> dict[str, int]:
        """Zone -> how many."""
        sums = np.bincount(self.zones[rows], counts, len(self.zone_names))
        pairs = zip(self.zone_names, sums.astype(np.int64).tolist(), strict=True)
        return {name: count for name, count in pairs if count}

    def by_aggregate(self, rows: Int64s, counts: Int64s) -> dict[str, int]:
        """Aggregate -> how many."""
        found = {
            name: int(counts[mask[rows]].sum())
            for name, mask in sorted(self.aggregates.items())
        }
        return {name: count for name, count in found.items() if count}


def _split(
    state: State,
    name: str,
    division: FairDivision,
    mix: FlavorMix,
    places: Localities,
    pause: Pause,
) -> Split:
    shares = []
    for room, alone, spec, weight in zip(
        division.rooms, division.alone, mix.specs, mix.weights, strict=True
    ):
        flavor = spec.flavor.name or ""
        share = _share(state, room, alone, flavor, weight, places)
        shares.append(_cut(share, room, alone) if division.is_cut else share)
        pause()
    return Split(name, tuple(shares), division.level, division.level_bound)


def _cut(share: Share, room: FlavorRoom, alone: Int64s) -> Share:
    """``share`` where the steps ended first, if the flavor still fits somewhere."""
    hosts = int(np.count_nonzero(room.room(alone)))
    if not hosts:
        return share
    return structs.replace(
        share, limits={**share.limits, "capacity_steps": hosts}, is_lower_bound=True
    )


def _share(
    state: State,
    room: FlavorRoom,
    alone: Int64s,
    flavor: str,
    weight: float,
    places: Localities,
) -> Share:
    rows, counts = room.rows, room.counts
    hosts: dict[str, int] = {}
    for at in np.flatnonzero(counts).tolist():
        host = state.fleet.hosts.hosts[int(rows[at])]
        hosts[host] = hosts.get(host, 0) + int(counts[at])
    return Share(
        flavor,
        weight,
        int(counts.sum()),
        int(alone.sum()),
        places.by_zone(rows, counts),
        places.by_aggregate(rows, counts),
        hosts,
        room.limits(),
        room.is_lower_bound,
    )
