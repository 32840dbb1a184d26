"""Keeps settled records: in memory, or in the table that all processes share."""

from __future__ import annotations

from collections.abc import Iterable
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
from gantt.model.shadow import ShadowPage, ShadowQuery, ShadowRecord
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
            "shadow_waiting": 0 if writer is None else len(writer.waiting()),
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
        found, rest = latest(own, rows or RecordPage(), asked.limit, asked.after)
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
