"""What is left of each resource class and flavor, and until when it lasts.

A zone of which the usage history reaches as far as that of the whole fleet, or as far
as the forecast needs, is forecast from its own. Other zones, and aggregates, are taken
to grow by their part of what is used now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.model.capacity import Forecast, Outlook, OutlookKind
from gantt.model.usage_history import MICROS, UsageRecord
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.capacity.flavor_room import FlavorRoom
from gantt.scheduler.capacity.forecast import Passage, passage
from gantt.scheduler.capacity.split import (
    FlavorMix,
    Localities,
    feasible_of,
)
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.pauses import Pause, never, within
from gantt.state.column import NO_ROW, Bools, Floats
from gantt.state.state import State


class UsageSeries(Struct, frozen=True, eq=False):
    """``used``: class -> float64[n], by periods of ``step_s``, the latest last, which
    ends at ``until``; how far each reaches back differs. ``zones``: the same of zones,
    as far as theirs ends at ``until`` too."""

    used: Mapping[str, Floats]
    step_s: int
    until: int
    zones: Mapping[str, Mapping[str, Floats]] = {}


def history_of(records: Iterable[UsageRecord], step_s: int) -> UsageSeries:
    """Records of complete periods, of each zone and class the oldest first. Of periods
    without a record the use lies between that of those around. What is counted no more
    is left out."""
    by_zone: dict[str, dict[str, list[UsageRecord]]] = {}
    for one in records:
        of_class = by_zone.setdefault(one.zone, {})
        of_class.setdefault(one.resource_class, []).append(one)
    fleet = by_zone.pop("", {})
    last = max((ones[-1].start for ones in fleet.values()), default=0)
    zones = {zone: _used(of, last, step_s) for zone, of in by_zone.items()}
    return UsageSeries(
        _used(fleet, last, step_s), step_s, last + step_s * MICROS, zones
    )


def _used(
    records: Mapping[str, Sequence[UsageRecord]], last: int, step_s: int
) -> dict[str, Floats]:
    used = {}
    for name, ones in records.items():
        if ones[-1].start == last:
            starts = [one.start for one in ones]
            times = np.arange(starts[0], last + 1, step_s * MICROS)
            used[name] = np.interp(times, starts, [one.used_avg for one in ones])
    return used


def outlook(
    state: State,
    mix: FlavorMix,
    sources: Sequence[CandidateSource],
    driver: Driver,
    history: UsageSeries,
    horizon_s: int,
    *,
    now: int,
    budget: int | None = None,
    pause: Pause = never,
) -> Forecast:
    """Until when room lasts, of each class of ``history`` and each flavor. ``pause``:
    wherever others may write meanwhile. Raises Invalid, NoValidHost, UnknownName,
    Moved."""
    feasible = feasible_of(
        state, mix.specs, sources, driver, now=now, budget=budget, pause=pause
    )
    pause = within(state, None, pause)
    run = _Run(state, history, horizon_s // history.step_s, now)
    outlooks: list[Outlook] = []
    for where, hosts in Localities(state, mix.default_zone).parts(mix.by):
        sums = _sums(state, sorted(history.used), hosts)
        outlooks += run.classes(where, sums)
        for one in feasible:
            allowed = None if hosts is None else hosts[one.hosts.rows]
            room = FlavorRoom(
                state, one, Together(state, pause), Budget(budget), driver, allowed
            )
            outlooks.append(run.flavor(where, one, room, sums))
            pause()
        pause()
    steps = max((len(one) - 1 for one in history.used.values()), default=0)
    seen_s = steps * history.step_s
    reach_s = min(horizon_s, steps // 2 * history.step_s)
    return Forecast(mix.by, now, seen_s, reach_s, tuple(outlooks))


class _Sum(Struct, frozen=True):
    """What some hosts have and use of a class, and the part of all use."""

    capacity: float
    used: float
    part: float

    @property
    def left(self) -> float:
        return max(self.capacity - self.used, 0.0)


def _sums(state: State, names: Sequence[str], hosts: Bools | None) -> dict[str, _Sum]:
    """By class: of all providers, or of the trees of some ``hosts`` (bool[hosts])."""
    is_within = np.ones(state.providers.height, np.bool_)
    if hosts is not None:
        is_within[:] = False
        roots = state.fleet.hosts.provider[: len(hosts)][hosts]
        is_within[roots[roots != NO_ROW]] = True
    found = {}
    for name in names:
        index = state.classes.index_of(name)
        table = None if index is None else state.inventories.table(index)
        if table is None:
            continue
        slots = table.live_rows()
        here = is_within[state.providers.root[table.provider[slots]]]
        most, taken = table.amounts(slots)
        capacity = np.clip(np.floor(most), 0.0, None)
        used = taken.astype(np.float64)
        whole = float(used.sum()) or float(capacity.sum())
        mine = float(used[here].sum()) if used.any() else float(capacity[here].sum())
        found[name] = _Sum(
            float(capacity[here].sum()),
            float(used[here].sum()),
            mine / whole if whole else 0.0,
        )
    return found


class _Run:
    def __init__(
        self, state: State, history: UsageSeries, horizon: int, now: int
    ) -> None:
        self._state, self._history = state, history
        self._horizon, self._now = horizon, now

    def classes(self, where: str, sums: Mapping[str, _Sum]) -> Iterator[Outlook]:
        """Each class that the hosts have."""
        for name, one in sums.items():
            if one.capacity:
                yield self._told(
                    "class", name, where, int(one.left), {name: one.left}, sums
                )

    def flavor(
        self,
        where: str,
        feasible: FeasibleHosts,
        room: FlavorRoom,
        sums: Mapping[str, _Sum],
    ) -> Outlook:
        """A flavor: it runs out when use of any class has grown by its slack, which is
        at least what the instances that fit now would take of it."""
        found = room.room()
        slack = room.slack(found > 0)
        more = int(room.take(found).sum())
        headroom = {
            name: float(max(slack.get(name, 0), more * amount))
            for name, amount in room.amounts.items()
            if name in sums
        }
        name = feasible.request.spec.flavor.name or ""
        told = self._told("flavor", name, where, more, headroom, sums)
        if more:
            return told
        classes = (one for one in room.limits() if one in room.amounts)
        return replace(told, ends_by=next(classes, ""))

    def _told(
        self,
        kind: OutlookKind,
        name: str,
        where: str,
        left: int,
        headroom: Mapping[str, float],
        sums: Mapping[str, _Sum],
    ) -> Outlook:
        if not left:
            gone = (self._now,) * 3
            ends_by = name if kind == "class" else ""
            return Outlook(
                kind,
                name,
                where,
                left,
                "nothing left",
                *gone,
                1.0,
                ends_by=ends_by,
            )
        used = self._own(where, headroom)
        is_own = used is not None
        names = self._counted(headroom, sums, used)
        found = self._passage(names, headroom, sums, used)
        if found is None:
            return Outlook(kind, name, where, left, "too little history")
        step_us = self._history.step_s * MICROS
        first, middle, last = (
            None if step is None else self._history.until + step * step_us
            for step in found.steps
        )
        return Outlook(
            kind=kind,
            name=name,
            where=where,
            left=left,
            state="not within horizon" if first is None else "forecast",
            lasts_until=first,
            likely_until=middle,
            latest_until=last,
            chance=round(found.chance, 4),
            is_own=is_own,
            ends_by="" if found.first is None else names[found.first],
        )

    def _own(self, zone: str, names: Iterable[str]) -> Mapping[str, Floats] | None:
        """What the zone used of these classes, if the dates reach as far with that."""
        own = self._history.zones.get(zone, {})
        for name in names:
            known = self._history.used.get(name)
            if known is None:
                continue
            needed = min(len(known), 2 * self._horizon + 1)
            if name not in own or len(own[name]) < needed:
                return None
        return own or None

    def _counted(
        self,
        headroom: Mapping[str, float],
        sums: Mapping[str, _Sum],
        own: Mapping[str, Floats] | None,
    ) -> list[str]:
        """The classes of which it is known how use grows."""
        history = self._history.used if own is None else own
        return [one for one in headroom if one in history and sums[one].part]

    def _passage(
        self,
        names: Sequence[str],
        headroom: Mapping[str, float],
        sums: Mapping[str, _Sum],
        own: Mapping[str, Floats] | None,
    ) -> Passage | None:
        """``own``: what the hosts used themselves; None: their part of all use."""
        if not names:
            return None
        history = self._history.used if own is None else own
        each = [history[one] for one in names]
        length = min(map(len, each))
        used = np.stack([one[len(one) - length :] for one in each], axis=1)
        part = {one: sums[one].part if own is None else 1.0 for one in names}
        room = np.array([headroom[one] / part[one] for one in names])
        return passage(used, room, self._horizon)
