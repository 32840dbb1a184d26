"""Keeps settled records: in memory, or in the table that all processes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Final

import msgspec
from msgspec import msgpack

from gantt.engine.clock import Clock
from gantt.engine.options import ShadowOptions
from gantt.engine.scheduling.background_writer import (
    BackgroundWriter,
    Noted,
    Ring,
    Written,
    latest,
)
from gantt.engine.threads import LeaderTask, Threads
from gantt.model.paging import read, text_of
from gantt.model.shadow import ShadowPage, ShadowPlace, ShadowQuery, ShadowRecord
from gantt.store.interface import RecordPage, ShadowRow, SideTable

_FIRST: Final = 2**62
"""Numbers of records here are above those that rows of the table may have."""
_ENCODE: Final = msgpack.Encoder().encode
_DECODE: Final = msgpack.Decoder(ShadowRecord).decode
_DEFAULT_KEEP: Final = ShadowOptions().shadow_records
ShadowTable = SideTable[ShadowRow, ShadowQuery, int]


class Keeping:
    """``table`` None: all is in memory, and only this process answers."""

    def __init__(
        self,
        table: ShadowTable | None,
        options: ShadowOptions,
        clock: Clock,
        threads: Threads,
    ) -> None:
        keep, backlog = options.shadow_records, options.shadow_backlog
        self._limits = {
            "shadow_waiting_limit": keep if table is None else backlog,
            "shadow_records_limit": keep,
        }
        self._numbers = count(_FIRST)
        self._lock = threads.lock()
        self._dropped = 0
        self._ring: Ring[ShadowRecord] = Ring(keep)
        self._writer: BackgroundWriter[ShadowRecord, ShadowRow, ShadowQuery] | None
        self._writer = None
        if table is not None:
            written = Written(
                "shadow records",
                "gantt-shadow-records",
                _row,
                backlog,
                keep,
                _DEFAULT_KEEP,
            )
            self._writer = BackgroundWriter(table, written, clock, threads)

    def counts(self) -> dict[str, float]:
        """For metrics."""
        writer = self._writer
        return {
            **self._limits,
            "shadow_waiting": 0 if writer is None else writer.count(),
            "shadow_dropped": 0 if writer is None else writer.unwritten,
            "shadow_trimmed": self._dropped if writer is None else writer.trimmed,
        }

    def add(self, records: Iterable[ShadowRecord]) -> None:
        """Keep these, and drop the oldest beyond the limit."""
        for one in records:
            noted = Noted(next(self._numbers), one)
            if self._writer is not None:
                self._writer.note(noted)
                continue
            with self._lock:
                self._dropped += self._ring.add(noted)

    def page(self, asked: ShadowQuery) -> ShadowPage:
        """The latest first; while the database is away, those that wait for it."""
        # Those first: what is written meanwhile is then found twice, and shown once.
        with self._lock:
            kept = self._ring.in_order()
        waiting = kept if self._writer is None else self._writer.waiting()
        rows = None if self._writer is None else self._writer.page(asked)
        own = {
            (one.record.asked_at, one.number): one
            for one in waiting
            if asked.means(one.record)
        }
        shared = rows or RecordPage()
        found, rest = latest(own, shared, asked.limit, asked.after)
        if rest and isinstance(found[-1], Noted):
            found, rest = _whole(found, rest, own, shared)
        records = {
            one.id: one
            for one in map(_record, found)
            if one is not None and asked.means(one)
        }
        return ShadowPage(tuple(records.values()), rest)

    def leader_tasks(self) -> Iterable[LeaderTask]:
        """What the leader does for all processes."""
        if self._writer is not None:
            yield self._writer.leader_task("trim_shadow")

    def close(self) -> None:
        """Write what waits."""
        if self._writer is not None:
            self._writer.close()


def _whole(
    found: list[Noted[ShadowRecord] | ShadowRow],
    rest: str,
    own: Mapping[ShadowPlace, Noted[ShadowRecord]],
    shared: RecordPage[ShadowRow],
) -> tuple[list[Noted[ShadowRecord] | ShadowRow], str]:
    """A page that would end with a record that waits: written, that has another place,
    after this one. So the page ends between two times, unless all of it has one."""
    last = read(rest, ShadowPlace)
    at = last[0]
    is_cut = any(one[0] == at and one < last for one in (*own, *shared.rows))
    is_cut |= not shared.is_whole and min(shared.rows, default=last)[0] >= at
    if is_cut:
        earlier = [one for one in found if _at(one) > at]
        if not earlier:
            return found, rest
        found, at = earlier, _at(earlier[-1])
    return found, text_of((at, 0))


def _at(one: Noted[ShadowRecord] | ShadowRow) -> int:
    return one.record.asked_at if isinstance(one, Noted) else one.at


def _row(noted: Noted[ShadowRecord]) -> ShadowRow:
    one = noted.record
    uuid = one.instance_uuid
    return ShadowRow(one.asked_at, one.request_id, uuid, one.verdict, _ENCODE(one))


def _record(one: Noted[ShadowRecord] | ShadowRow) -> ShadowRecord | None:
    """None: of a release that this one does not understand."""
    if isinstance(one, Noted):
        return one.record
    try:
        return _DECODE(one.record)
    except (msgspec.MsgspecError, ValueError):
        return None
