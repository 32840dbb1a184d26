"""Keeps settled records: in memory, or in the table that all processes share.

As with records of decisions, nothing waits for the database: what it does not take is
kept, up to a limit, and written later.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

import msgspec
from msgspec import msgpack
from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.options import ShadowOptions
from gantt.engine.threads import LeaderTask
from gantt.errors import GanttError
from gantt.model.paging import MOST_KEY, text_of
from gantt.model.shadow import ShadowPage, ShadowPlace, ShadowQuery, ShadowRecord
from gantt.store.interface import ShadowRow, ShadowRows

LOG = logging.getLogger(__name__)
_TRIM_S: Final = 10.0
_FIRST: Final = 2**62
_ENCODE: Final = msgpack.Encoder().encode
_DECODE: Final = msgpack.Decoder(ShadowRecord).decode


class Keeping:
    """``table`` None: all is in memory, and only this process answers."""

    def __init__(
        self, table: ShadowRows | None, options: ShadowOptions, clock: Clock
    ) -> None:
        self._table = table
        self._keep = options.shadow_records
        self._clock = clock
        self._limit = self._keep if table is None else options.shadow_backlog
        self._waiting: deque[ShadowRecord] = deque()
        # By id; above those that rows of the table may have.
        self._numbers: dict[str, int] = {}
        self._counted = count(_FIRST)
        self._lock = threading.Lock()
        self._trim_at = clock.monotonic()
        self._is_troubled = False
        self._dropped = self._trimmed = self._written = 0

    def counts(self) -> dict[str, float]:
        """For metrics."""
        is_shared = self._table is not None
        return {
            "shadow_waiting": len(self._waiting) if is_shared else 0,
            "shadow_waiting_limit": self._limit,
            "shadow_records_limit": self._keep,
            "shadow_dropped": self._dropped if is_shared else 0,
            "shadow_trimmed": self._trimmed if is_shared else self._dropped,
        }

    def add(self, records: Iterable[ShadowRecord]) -> None:
        """Keep these, and drop the oldest beyond the limit."""
        with self._lock:
            for one in records:
                self._waiting.append(one)
                self._numbers[one.id] = next(self._counted)
            while len(self._waiting) > self._limit:
                del self._numbers[self._waiting.popleft().id]
                self._dropped += 1

    @property
    def is_due(self) -> bool:
        """Whether anything waits to be written."""
        return self._table is not None and len(self._waiting) > 0

    def write(self) -> None:
        """Write what waits; it waits on while the database cannot take it."""
        with self._lock:
            taken = list(self._waiting)
        if self._table is None or not taken:
            return
        try:
            self._table.add([_row(one) for one in taken])
            self._is_troubled = False
        except GanttError as error:
            self._report("they are kept until they can be written", error)
            return
        with self._lock:
            written = {one.id for one in taken}
            self._waiting = deque(r for r in self._waiting if r.id not in written)
            self._numbers = {r.id: self._numbers[r.id] for r in self._waiting}

    def page(self, asked: ShadowQuery) -> ShadowPage:
        """The latest first; while the database is away, those that wait for it."""
        rows = self._rows(replace(asked, limit=asked.limit + 1))
        with self._lock:
            waiting: dict[ShadowPlace, ShadowRecord] = {
                (one.asked_at, self._numbers[one.id]): one
                for one in self._waiting
                if asked.means(one)
            }
        found: dict[ShadowPlace, ShadowRecord | ShadowRow] = {**rows, **waiting}
        is_whole = len(rows) <= asked.limit
        last = (0, 0) if is_whole else min(rows)
        after = (MOST_KEY, MOST_KEY) if asked.after is None else asked.after
        places = sorted((one for one in found if last <= one < after), reverse=True)
        shown = places[: asked.limit]
        records = {
            one.id: one
            for one in map(_record, map(found.__getitem__, shown))
            if one is not None and asked.means(one)
        }
        is_last = is_whole and len(shown) == len(places)
        return ShadowPage(
            tuple(records.values()),
            "" if is_last or not shown else text_of(shown[-1]),
        )

    def _rows(self, asked: ShadowQuery) -> Mapping[ShadowPlace, ShadowRow]:
        try:
            return {} if self._table is None else self._table.find(asked)
        except GanttError as error:
            self._report("only those of this process are shown", error)
            return {}

    def _report(self, text: str, error: GanttError) -> None:
        """Once per outage."""
        if not self._is_troubled:
            self._is_troubled = True
            LOG.warning("shadow records: %s: %s", text, error)

    def leader_tasks(self) -> Iterable[LeaderTask]:
        """What the leader does for all processes."""
        if self._table is not None:
            yield LeaderTask("trim_shadow", self._is_due, self._trim)

    def _is_due(self) -> bool:
        return self._clock.monotonic() >= self._trim_at

    def _trim(self) -> int:
        assert self._table is not None
        self._trim_at = self._clock.monotonic() + _TRIM_S
        dropped = self._table.trim(self._keep)
        self._trimmed += dropped
        return dropped


def _row(record: ShadowRecord) -> ShadowRow:
    return ShadowRow(
        record.asked_at,
        record.request_id,
        record.instance_uuid,
        record.verdict,
        _ENCODE(record),
    )


def _record(one: ShadowRecord | ShadowRow) -> ShadowRecord | None:
    """None: of a release that this one does not understand."""
    if isinstance(one, ShadowRecord):
        return one
    try:
        return _DECODE(one.record)
    except (msgspec.MsgspecError, ValueError):
        return None
