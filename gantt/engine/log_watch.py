"""The log for watchers: what follows a position, as soon as it is durable.

Nothing is kept for a watcher between two requests, so that a slow or lost one costs
nothing: it sends its position and is answered from the log, a page at a time. Only
committed rows are in the log, in the order of their revisions. Ids in rows come with
names as far as this process knows them: those of rows deleted since are left out.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import msgspec

from gantt.engine.clock import Clock
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import Threads
from gantt.errors import StoreFailed
from gantt.model import rows as t
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.facts import as_told
from gantt.model.rows import HostRow, key_of
from gantt.model.watching import (
    Event,
    Events,
    RowChange,
    Snapshot,
    place_of,
    read_cursor,
)
from gantt.state.state import State
from gantt.store.interface import Chunks, Page, Store

LOOK_S = 0.1
"""How often a waiting watcher looks for what other processes committed."""
# How soon a watch finds out that the engine was closed.
_TURN_S = 1.0
# Rows that are named while the columns are locked.
_NAMED_AT_ONCE = 256

_PROVIDER = "provider"
# Column -> what its id refers to: a table of names, a provider or a host.
_REFERENCES: dict[str, str] = {
    "resource_provider_id": _PROVIDER,
    "root_provider_id": _PROVIDER,
    "parent_provider_id": _PROVIDER,
    "resource_class_id": t.RESOURCE_CLASSES,
    "project_id": t.PROJECTS,
    "user_id": t.USERS,
    "consumer_type_id": t.CONSUMER_TYPES,
    "trait_id": t.TRAITS,
    "aggregate_id": t.AGGREGATES,
    "host_id": t.HOSTS,
}
_LINKS = {t.PROVIDER_TRAITS: "trait_id", t.PROVIDER_AGGREGATES: "aggregate_id"}
# Columns that hold JSON text, which is decoded.
_DOCUMENTS = frozenset({"stats", "hosts", "metadata", "facts", "members", "remote"})


class Watching:
    """Answers watchers from the log of ``store``."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        log_tailer: LogTailer,
        *,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._store = store
        self._replica = replica
        self._log_tailer = log_tailer
        self._clock = clock
        self._reading = threads.lock()
        # At which epoch and revision the last page was read, after what, and the page.
        self._last: tuple[tuple[int, int, Cursor], Events] | None = None
        self._sent = 0
        self._is_closed = False

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """See GanttProtocol. Raises Invalid, Gone, StoreFailed."""
        deadline = self._clock.monotonic() + wait_s
        if since is None:
            self._log_tailer.look()
            after = self._store.cursor()
        else:
            after = read_cursor(since)
            page = self._store.history(after)
            if page.entries:
                return self._events(page)
            after = page.start
        if not self._has_more(after, deadline):
            return Events((), place_of(after))
        return self._shared(after)

    def watch(self, since: str | int | None = None) -> Iterator[Event]:
        """See GanttProtocol; it ends when the engine is closed."""
        place = since
        while True:
            try:
                found = self.events(place, wait_s=_TURN_S)
            except StoreFailed:
                if self._is_closed:
                    return
                raise
            yield from found.events
            if self._is_closed and not found.events:
                return
            place = found.cursor

    def snapshot(self) -> Snapshot:
        """All rows of the tables at one revision, for watchers that cannot continue
        from where they were. Raises StoreFailed, also while ``pages`` are read."""
        self._log_tailer.look()
        cursor, chunks = self._store.load()
        return Snapshot(cursor.revision, place_of(cursor), self._pages(chunks))

    def _pages(self, chunks: Chunks) -> Generator[tuple[RowChange, ...], None, None]:
        with closing(chunks):
            for table, rows in chunks:
                changes = tuple(Change(table, key_of(row), None, row) for row in rows)
                yield tuple(self._named(changes))

    def counts(self) -> dict[str, float]:
        """How many events were sent, by name; for metrics."""
        return {"events_told": self._sent}

    def close(self) -> None:
        """Answer waiting watchers; ``watch`` ends."""
        self._is_closed = True

    def _shared(self, after: Cursor) -> Events:
        """What follows ``after``, read once for all watchers at that position: most of
        many watchers are at the end."""
        with self._reading:
            place = (self._replica.epoch, self._replica.durable, after)
            if self._last is None or self._last[0] != place:
                self._last = (place, self._events(self._store.history(after)))
            return self._last[1]

    def _has_more(self, after: Cursor, deadline: float) -> bool:
        """Wait until the log may have gone on, or is another one."""
        epoch = self._replica.epoch
        while True:
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0 or self._is_closed:
                return False
            self._replica.wait_beyond(after.revision, epoch, min(left_s, LOOK_S))
            if not self._has_moved(after, epoch):
                self._log_tailer.look()
            if self._has_moved(after, epoch):
                return True

    def _has_moved(self, after: Cursor, epoch: int) -> bool:
        replica = self._replica
        return replica.durable != after.revision or replica.epoch != epoch

    def _events(self, page: Page) -> Events:
        """The events of a page."""
        # Names are those of the columns, which must know what the log says.
        self._log_tailer.look()
        events = tuple(self._event(entry) for entry in page.entries)
        self._sent += len(events)
        return Events(events, events[-1].id if events else place_of(page.start))

    def _event(self, entry: LogEntry) -> Event:
        return Event(
            place_of(Cursor(entry.revision, entry.batch)),
            entry.revision,
            entry.kind,
            entry.at,
            entry.request_id,
            tuple(self._named(entry.changes)),
        )

    def _named(self, changes: Sequence[Change]) -> list[RowChange]:
        """``changes`` with their names, as far as the columns know them."""
        found: list[RowChange] = []
        for start in range(0, len(changes), _NAMED_AT_ONCE):
            some = changes[start : start + _NAMED_AT_ONCE]
            with self._replica.lock:
                state = self._replica.state
                found += [_row_change(state, change) for change in some]
        return found


def _row_change(state: State, change: Change) -> RowChange:
    """``change`` with its names, as far as ``state`` knows them."""
    change = as_told(change)
    link = _LINKS.get(change.table)
    row = None if change.new is None else _columns(change, link)
    ids: Mapping[str, Any] = row or {}
    if link is not None and isinstance(change.key, tuple):
        ids = dict(zip(("resource_provider_id", link), change.key, strict=True))
    return RowChange(change.table, change.key, row, dict(_names(state, ids)))


def _columns(change: Change, link: str | None) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.structs.asdict(change.new)  # type: ignore[arg-type]
    if link is not None:
        found[link] = found.pop("label_id")
    if change.table in t.FLEET:
        for name in _DOCUMENTS & found.keys():
            if found[name] is not None:
                found[name] = msgspec.json.decode(found[name])
    return found


def _names(state: State, ids: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, kind in _REFERENCES.items():
        key = ids.get(column)
        # In tables of the fleet a project is a uuid already.
        if isinstance(key, int):
            name = _name(state, kind, key)
            if name is not None:
                yield column.removesuffix("_id"), name


def _name(state: State, kind: str, key: int) -> str | None:
    if kind == _PROVIDER:
        provider = state.providers.get(key)
        return None if provider is None else provider.uuid
    if kind == t.HOSTS:
        host = state.fleet.get(t.HOSTS, key)
        return f"{host.host}/{host.node}" if isinstance(host, HostRow) else None
    named = state.names[kind].get(key)
    return None if named is None else named.name
