"""Keeps the usage history: samples the totals, aggregates them, drops old records.

A leader task, in steps. Each holds the head lock, reads the clock of the books and
determines from the records alone what is next. So it does not matter which process
takes a step, or whether the last one died before the next: a sample is taken once in
its period, and a coarser record is made of the finer ones, never added to.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TypeAlias

from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.options import EngineOptions
from gantt.model.usage_history import (
    ALL,
    MICROS,
    SECONDS,
    HistoryQuery,
    UsageRecord,
    history_query,
    is_zone_name,
)
from gantt.placement.usage_samples import (
    rolled_up,
    sampled,
    whole_periods,
    zones_kept,
)
from gantt.store.interface import Store, UsageRows

LOG = logging.getLogger(__name__)

Totals: TypeAlias = Mapping[str, Mapping[str, tuple[float, float]]]

_PERIODS = tuple(SECONDS.values())
# After a step that failed.
_RETRY_S = 10.0
# Steps per run: the leader must write its heartbeat in between.
_STEPS = 50
# Periods that one step drops, so that no committer waits for long.
_DROPPED = 100
_DAY = 86_400 * MICROS


class UsageRecorder:
    """``totals`` returns zone -> resource class -> (capacity, used), as it is durable;
    of the zone "": of all providers."""

    def __init__(
        self,
        store: Store,
        totals: Callable[[], Totals],
        options: EngineOptions,
        clock: Clock,
    ) -> None:
        self._store = store
        self._totals = totals
        self._options = options
        self._clock = clock
        self._days = (
            options.usage_5m_days,
            options.usage_hour_days,
            options.usage_day_days,
        )
        self._due_at = 0.0
        names = ("samples", "rollups", "dropped", "left_out", "zones_left_out")
        self._counts = dict.fromkeys(names, 0)
        self._doing: Counter[str] = Counter()  # counted once it is committed

    def counts(self) -> dict[str, float]:
        """What was done so far, and the limits on classes and zones; for metrics."""
        counts = {f"usage_{name}": count for name, count in self._counts.items()}
        return {
            "usage_classes_limit": self._options.usage_classes,
            "usage_zones_limit": self._options.usage_zones,
            **counts,
        }

    def usage_history(
        self,
        resource_class: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        period: str = "hour",
        limit: int = 1000,
        zone: str | None = None,
    ) -> tuple[UsageRecord, ...]:
        asked = history_query(
            resource_class,
            since=since,
            until=until,
            period=period,
            limit=limit,
            zone=zone,
        )
        if asked.zone and not is_zone_name(asked.zone):
            return ()
        found = self._store.usage_history(replace(asked, limit=limit + 1))
        kept = whole_periods(found, limit)
        if kept or not found:
            return kept
        # The latest alone has more classes. All of it: the next page begins before it.
        latest = found[0].start
        whole = replace(asked, since=latest, until=latest + 1, limit=ALL)
        return whole_periods(self._store.usage_history(whole), ALL)

    def is_due(self) -> bool:
        is_on = self._options.usage_sample_s > 0
        return is_on and self._clock.monotonic() >= self._due_at

    def run(self) -> int:
        """Take steps until nothing is left to do; how many. Raises StoreFailed, and is
        then due again soon."""
        self._due_at = self._clock.monotonic() + _RETRY_S
        totals = self._totals()
        for done in range(_STEPS):
            self._doing.clear()
            with self._store.usage_rows() as rows:
                database_now = rows.now()
                now = self._clock.now() if database_now is None else database_now
                has_done = self._step(rows, now, totals)
            for name, count in self._doing.items():
                self._counts[name] += count
            if not has_done:
                left_us = _begin(now, self._every_s) + self._every_s * MICROS - now
                self._due_at = self._clock.monotonic() + left_us / MICROS
                return done
        self._due_at = self._clock.monotonic()
        return _STEPS

    @property
    def _every_s(self) -> int:
        """Seconds between samples: whole periods of the finest."""
        asked_s, finest_s = self._options.usage_sample_s, _PERIODS[0]
        return max(finest_s, asked_s - asked_s % finest_s)

    def _step(self, rows: UsageRows, now: int, totals: Totals) -> bool:
        """Do the first of these that is due; whether any was. Nothing is dropped while
        a complete period is not yet aggregated."""
        return (
            self._sample(rows, now, totals)
            or any(self._roll_up(rows, now, *pair) for pair in pairwise(_PERIODS))
            or any(
                self._drop(rows, now - days * _DAY, period_s)
                for period_s, days in zip(_PERIODS, self._days, strict=True)
            )
        )

    def _sample(self, rows: UsageRows, now: int, totals: Totals) -> bool:
        finest_s, every_s = _PERIODS[0], self._every_s
        slot = _begin(now, every_s)
        is_taken = rows.last(finest_s, slot, slot + every_s * MICROS) is not None
        if is_taken or not totals[""]:
            return False
        most, start = self._options.usage_classes, _begin(now, finest_s)
        zones = zones_kept(totals, self._options.usage_zones)
        records = [
            record
            for zone in ("", *zones)
            for record in sampled(totals[zone], start, finest_s, most, zone)
        ]
        rows.replace(finest_s, start, records)
        for period_s in _PERIODS[1:]:
            # Computed too soon if it exists: a clock was ahead, and was set back.
            begin = _begin(start, period_s)
            rows.drop(period_s, begin, begin + 1)
        self._doing["samples"] += 1
        self._tell_left_out(len(totals[""]), most, "resource classes", "classes")
        self._tell_left_out(len(totals) - 1, len(zones), "zones", "zones")
        return True

    def _tell_left_out(self, found: int, kept: int, what: str, option: str) -> None:
        name = "left_out" if option == "classes" else "zones_left_out"
        left_out = max(0, found - kept)
        if left_out and not self._counts[name]:
            LOG.warning(
                "the usage history takes %d of %d %s: raise usage_%s to include the "
                "others",
                kept,
                found,
                what,
                option,
            )
        self._doing[name] += left_out

    def _roll_up(self, rows: UsageRows, now: int, finer_s: int, coarser_s: int) -> bool:
        """Aggregate the first complete period that has finer records and no record yet.
        Finer records are only ever added for the present, see ``_sample``."""
        over = _begin(now, coarser_s)
        last = rows.last(coarser_s, 0, over)
        since = 0 if last is None else last + coarser_s * MICROS
        first = rows.first(finer_s, since, over)
        if first is None:
            return False
        start = _begin(first, coarser_s)
        parts = HistoryQuery(finer_s, start, start + coarser_s * MICROS)
        finer = [*rows.find(parts), *rows.find(replace(parts, zone=None))]
        rows.replace(coarser_s, start, rolled_up(finer, start, coarser_s))
        self._doing["rollups"] += 1
        return True

    def _drop(self, rows: UsageRows, before: int, period_s: int) -> bool:
        first = rows.first(period_s, 0, before)
        if first is None:
            return False
        until = min(before, first + _DROPPED * period_s * MICROS)
        # From the first on, and what a release that knows no zones left before it.
        self._doing["dropped"] += rows.drop(period_s, 0, until)
        return True


def _begin(at: int, period_s: int) -> int:
    """The begin of the period that contains the time ``at``."""
    return at - at % (period_s * MICROS)
