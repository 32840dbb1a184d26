"""A store without SQL for ``memory://``: it keeps the end of the log and no rows.

The columns of the one process that uses it are the only copy: there is nothing to load
and no other writer.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from gantt import errors
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.changelog.log_pages import page_of
from gantt.store.interface import (
    FEEDS,
    HEARTBEATS,
    LEADER_TASKS,
    Asked,
    Chunks,
    Drop,
    Fingerprint,
    Heartbeat,
    Lead,
    Page,
    Precondition,
    R,
    RecordPage,
    SideKind,
    SideTable,
    StoreOptions,
    Trimmed,
)
from gantt.store.outcomes import DefiniteAbort, ForeignWrite

# Revisions that watchers may still read.
_KEPT = 10_000


def _nothing() -> Chunks:
    yield from ()


class MemoryStore:
    """Keeps the end of the log, and its last entries for watchers, in memory."""

    url = "memory://"
    statements = 0

    def __init__(self, options: StoreOptions | None = None) -> None:
        self._options = options or StoreOptions()
        self._head = threading.Lock()
        self._identity = str(uuid.uuid4())
        self._end = Cursor()
        self._log: deque[LogEntry] = deque(maxlen=_KEPT)
        self._fingerprint: Fingerprint | None = None
        self._leads = {LEADER_TASKS: Lead(), FEEDS: Lead()}
        self._usage = MemoryUsageRows()
        self._beside: dict[str, SideTable[Any, Any, Any]] = {
            HEARTBEATS.name: MemoryHeartbeats()
        }
        self._is_closed = False

    def beside(
        self, kind: SideKind[R, Asked, Drop]
    ) -> SideTable[R, Asked, Drop] | None:
        return self._beside.get(kind.name)

    def fold(self, name: str) -> str:
        return name

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return changes

    def identity(self) -> str:
        return self._identity

    def load(self) -> tuple[Cursor, Chunks]:
        if self._end.revision:
            # Empty books would contradict the columns.
            raise errors.StoreFailed("The store memory:// has no rows to load again.")
        return self._end, _nothing()

    def cursor(self) -> Cursor:
        return self._end

    def cursor_at_once(self) -> Cursor:
        return self._end

    def now(self) -> None:
        return None

    def stamp(self) -> int:
        return self._log[-1].at if self._log else 0

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        return [] if after == self._end else None

    def begin(self) -> MemoryTransaction:
        if self._is_closed:
            raise errors.StoreFailed("The store memory:// is closed.")
        if not self._head.acquire(timeout=self._options.lock_timeout_s):
            raise DefiniteAbort("The head lock of memory:// could not be had in time.")
        return MemoryTransaction(self)

    def has_batch(self, end: Cursor) -> bool | None:
        with self._head:
            return self._end == end

    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self._end.revision, self._end.batch, {}, {})

    def saved_fingerprint(self) -> Fingerprint | None:
        return self._fingerprint

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        self._fingerprint = fingerprint

    def history(self, after: Cursor) -> Page:
        return page_of(list(self._log), after)

    def check_writable(self) -> None:
        pass

    def compact(self, keep: int) -> int:
        del keep  # the log is never longer than _KEPT
        return 0

    def leader(self, of: int = LEADER_TASKS) -> Lead:
        return self._leads[of]

    def lead(self, holder: str, seen: Lead, of: int = LEADER_TASKS) -> Lead | None:
        with self._head:
            if seen != self._leads[of]:
                return None
            self._leads[of] = Lead(holder, seen.beat + 1)
            return self._leads[of]

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        with self._head:
            return self._usage.find(asked)

    @contextmanager
    def usage_rows(self) -> Iterator[MemoryUsageRows]:
        with self._head:
            yield self._usage

    def close(self) -> None:
        self._is_closed = True

    def finish(self, entries: Sequence[LogEntry]) -> None:
        """Move the end of the log past ``entries``, if any, and release the lock."""
        if entries:
            self._log.extend(entries)
            self._end = Cursor(entries[-1].revision, entries[-1].batch)
        self._head.release()


class MemoryUsageRows:
    """The usage history of one process: period and start -> records."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], tuple[UsageRecord, ...]] = {}

    def now(self) -> int | None:
        return None

    def first(self, period_s: int, since: int, until: int) -> int | None:
        return min(self._starts(period_s, since, until), default=None)

    def last(self, period_s: int, since: int, until: int) -> int | None:
        return max(self._starts(period_s, since, until), default=None)

    def _starts(self, period_s: int, since: int, until: int) -> list[int]:
        keys = self._rows
        return [s for period, s in keys if period == period_s and since <= s < until]

    def find(self, asked: HistoryQuery) -> list[UsageRecord]:
        starts = self._starts(asked.period_s, asked.since, asked.until)
        found = (
            record
            for start in sorted(starts, reverse=True)
            for record in reversed(self._rows[asked.period_s, start])
            if asked.resource_class in (None, record.resource_class)
            and (record.zone == asked.zone or (asked.zone is None and record.zone))
        )
        return list(islice(found, asked.limit))

    def replace(
        self, period_s: int, start: int, records: Sequence[UsageRecord]
    ) -> None:
        self.drop(period_s, start, start + 1)
        if records:
            by_name = sorted(records, key=lambda one: (one.zone, one.resource_class))
            self._rows[period_s, start] = tuple(by_name)

    def drop(self, period_s: int, since: int, until: int) -> int:
        starts = self._starts(period_s, since, until)
        return sum(len(self._rows.pop((period_s, start))) for start in starts)


class MemoryHeartbeats:
    """When the hosts of one process were heard of last. Implements SideTable."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int], Heartbeat] = {}

    def page(self, asked: None = None) -> RecordPage[Heartbeat]:
        del asked  # all of them
        return RecordPage(self._rows)

    def append(self, rows: Sequence[Heartbeat]) -> int:
        self._rows = {**self._rows, **{(one.host_id,): one for one in rows}}
        return 0

    def trim(self, drop: Collection[int]) -> Trimmed:
        gone = self._rows.keys() & {(host_id,) for host_id in drop}
        self._rows = {k: one for k, one in self._rows.items() if k not in gone}
        return Trimmed(len(gone), len(self._rows))


class MemoryTransaction:
    """The head lock of a MemoryStore."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._written: list[LogEntry] = []
        self._is_open = True

    def now(self) -> int | None:
        return None

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        return self._store.tail(after)

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        del preconditions  # there is no other writer
        revision = self._store.cursor().revision
        for entry in entries:
            revision += 1
            if entry.revision != revision:
                raise ForeignWrite(f"{entry.revision} is not after {revision - 1}.")
            self._written.append(entry)

    def commit(self) -> None:
        self._finish(self._written)

    def rollback(self) -> None:
        self._finish(())

    def _finish(self, entries: Sequence[LogEntry]) -> None:
        if self._is_open:
            self._is_open = False
            self._store.finish(entries)
