"""A store without SQL for ``memory://``: it keeps the end of the log and no rows.

It stands apart from the SQL store because the columns of the one process that uses it
are all there is: nothing to load, nobody to catch up with.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from gantt import errors
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.store.contract import (
    Chunks,
    Fingerprint,
    Lead,
    Page,
    Premise,
    StoreOptions,
)
from gantt.store.outcomes import DefiniteAbort, ForeignWrite
from gantt.store.pages import page_of

# What watchers may still ask for.
_KEPT = 10_000


def _nothing() -> Chunks:
    yield from ()


class MemoryStore:
    """Remembers how far the log has come, and its last entries for watchers, as long
    as the process lives."""

    url = "memory://"
    statements = 0

    def __init__(self, options: StoreOptions | None = None) -> None:
        self._options = options or StoreOptions()
        self._head = threading.Lock()
        self._end = Cursor()
        self._log: deque[LogEntry] = deque(maxlen=_KEPT)
        self._fingerprint: Fingerprint | None = None
        self._lead = Lead()
        self._is_closed = False

    def fold(self, name: str) -> str:
        return name

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return changes

    def load(self) -> tuple[Cursor, Chunks]:
        if self._end.revision:
            # Empty books in place of those that are in the columns would be a lie.
            raise errors.StoreFailed("The store memory:// has no rows to load again.")
        return self._end, _nothing()

    def cursor(self) -> Cursor:
        return self._end

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

    def compact(self, keep: int) -> int:
        del keep  # the log is never longer than _KEPT
        return 0

    def leader(self) -> Lead:
        return self._lead

    def lead(self, holder: str, seen: Lead) -> Lead | None:
        with self._head:
            if seen != self._lead:
                return None
            self._lead = Lead(holder, seen.beat + 1)
            return self._lead

    def close(self) -> None:
        self._is_closed = True

    def finish(self, entries: Sequence[LogEntry]) -> None:
        """Move the end of the log past ``entries``, if any, and give up the lock."""
        if entries:
            self._log.extend(entries)
            self._end = Cursor(entries[-1].revision, entries[-1].batch)
        self._head.release()


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
        self, entries: Sequence[LogEntry], premises: Sequence[Premise] = ()
    ) -> None:
        del premises  # nobody else could write
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
