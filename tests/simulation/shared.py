"""A store without SQL that several engines share, for the simulator.

Separate from ``gantt.store.memory_store``, which belongs to one process: this one has
rows, a log, a head lock with waiters, connections that are closed when idle, and every
fault. ``Galera`` has no lock between nodes: the later of two commits is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from msgspec.structs import astuple

from gantt import errors
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import ROW_TYPES, Key, LinkRow, Row
from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.changelog.log_pages import page_of
from gantt.store.interface import (
    LEADER_TASKS,
    Asked,
    Chunks,
    Drop,
    Fingerprint,
    Lead,
    Page,
    Precondition,
    R,
    SideKind,
    SideTable,
    StoreOptions,
)
from gantt.store.memory_store import MemoryUsageRows
from gantt.store.outcomes import DefiniteAbort, ForeignWrite, UnknownOutcome
from gantt.store.tables import COLUMNS, UNIQUE
from tests.simulation.fault_schedule import (
    ABORT,
    ABORT_COMMIT,
    CUT,
    DROPPED,
    FULL,
    KEPT,
)
from tests.simulation.place import Place
from tests.simulation.world import World

T = TypeVar("T")


Tables = dict[str, dict[Key, Row]]


class Books:
    """The durable tables and log; ``history`` is never compacted."""

    def __init__(self, world: World, *, is_galera: bool = False) -> None:
        self.world = world
        self.is_galera = is_galera
        self.tables: Tables = {name: {} for name in ROW_TYPES}
        self.log: list[LogEntry] = []
        self.history: list[LogEntry] = []
        self.fingerprint: Fingerprint | None = None
        self.lead = Lead()
        self.usage = MemoryUsageRows()
        self.holder: SharedTransaction | None = None

    @property
    def end(self) -> Cursor:
        """The end of the log."""
        if not self.log:
            return Cursor()
        return Cursor(self.log[-1].revision, self.log[-1].batch)

    def tail(self, after: Cursor, limit: int) -> list[LogEntry] | None:
        """As in the interface, on committed rows."""
        found = [one for one in self.log if one.revision > after.revision]
        if after.revision:
            row = [one for one in self.log if one.revision == after.revision]
            if not row or row[0].batch != after.batch:
                return None
        if found and found[0].revision != after.revision + 1:
            return None
        return None if len(found) > limit else [_as_kept(one) for one in found]

    def commit(self, entries: Sequence[LogEntry]) -> None:
        """All of it at once."""
        for entry in entries:
            for change in entry.changes:
                _put(self.tables, change)
            self.log.append(_as_kept(entry))
            self.history.append(_as_kept(entry))


def _as_kept(entry: LogEntry) -> LogEntry:
    changes = tuple(Change(c.table, c.key, None, c.new) for c in entry.changes)
    return LogEntry(
        entry.revision, entry.batch, entry.at, entry.kind, entry.request_id, changes
    )


def _put(tables: Tables, change: Change) -> None:
    if change.new is None:
        tables[change.table].pop(change.key, None)
    else:
        tables[change.table][change.key] = change.new


class SharedStore:
    """One process's connections to the Books."""

    def __init__(self, books: Books, place: Place, options: StoreOptions) -> None:
        self.url = "sim://"
        self.statements = 0
        self.books = books
        self.options = options
        self.place = place
        self._is_closed = False

    def beside(
        self, kind: SideKind[R, Asked, Drop]
    ) -> SideTable[R, Asked, Drop] | None:
        del kind  # nothing is kept beside the books
        return None

    def fold(self, name: str) -> str:
        return name

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return changes

    def ask(self, what: str, query: Callable[[], T]) -> T:
        """A reading statement on a connection of its own."""
        self.statements += 1
        self.place.step(what)
        if self._is_closed:
            raise errors.StoreFailed("The store sim:// is closed.")
        for kind in (CUT, ABORT):
            if self.place.faults.strikes(kind):
                self.place.world.tell(f"{kind} at {what}")
                raise errors.StoreFailed(f"The database did not answer: {kind}.")
        answer = query()
        self.place.maybe_crash(f"after {what}")
        return answer

    def identity(self) -> str:
        return self.ask("identity", lambda: "sim")

    def load(self) -> tuple[Cursor, Chunks]:
        tables: Tables = {}

        def snapshot() -> Cursor:
            tables.update({n: dict(rows) for n, rows in self.books.tables.items()})
            return self.books.end

        return self.ask("load", snapshot), self._chunks(tables)

    def _chunks(self, tables: Tables) -> Chunks:
        for name, rows in tables.items():
            found = [row for _, row in sorted(rows.items())]
            self.ask(f"load {name}", lambda: None)
            yield name, found

    def cursor(self) -> Cursor:
        return self.ask("cursor", lambda: self.books.end)

    def cursor_at_once(self) -> None:
        return None

    def now(self) -> None:
        return None

    def stamp(self) -> int:
        log = self.books.log
        return self.ask("stamp", lambda: log[-1].at if log else 0)

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        limit = self.options.tail_limit
        return self.ask("tail", lambda: self.books.tail(after, limit))

    def begin(self) -> SharedTransaction:
        self.ask("begin", lambda: None)
        books, world = self.books, self.place.world
        end = world.time + self.options.lock_timeout_s
        while books.holder is not None and not books.is_galera:
            idle_since = books.holder.last_at + self.options.idle_timeout_s
            if idle_since <= world.time:
                world.tell(f"hangs up on {books.holder.store.place}", "database")
                books.holder.hang_up()
            elif end <= world.time:
                raise DefiniteAbort("The head lock could not be had in time.")
            else:
                world.wait(books, min(end, idle_since) - world.time)
        return SharedTransaction(self)

    def check_writable(self) -> None:
        """Its faults come with writes."""

    def has_batch(self, end: Cursor) -> bool | None:
        transaction = self.begin()
        try:
            log = transaction.ask("has_batch", lambda: self.books.log)
            later = (one for one in log if one.revision >= end.revision)
            found = next(later, None)
        finally:
            transaction.rollback()
        if found is None:
            return False
        return found.batch == end.batch if found.revision == end.revision else None

    def fingerprint(self) -> Fingerprint:
        end = self.books.end
        return Fingerprint(end.revision, end.batch, {}, {})

    def saved_fingerprint(self) -> Fingerprint | None:
        return self.books.fingerprint

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        self.books.fingerprint = fingerprint

    def compact(self, keep: int) -> int:
        try:
            transaction = self.begin()
        except DefiniteAbort as abort:
            raise errors.StoreFailed(str(abort)) from abort
        try:
            dropped = max(0, len(self.books.log) - max(keep, 1))
            del self.books.log[:dropped]
            return dropped
        finally:
            transaction.rollback()

    def history(self, after: Cursor) -> Page:
        return self.ask("history", lambda: page_of(self.books.log, after))

    def leader(self, of: int = LEADER_TASKS) -> Lead:
        assert of == LEADER_TASKS, "no feeds are simulated"
        return self.ask("leader", lambda: self.books.lead)

    def lead(self, holder: str, seen: Lead, of: int = LEADER_TASKS) -> Lead | None:
        assert of == LEADER_TASKS, "no feeds are simulated"

        def take() -> Lead | None:
            if seen != self.books.lead:
                return None
            self.books.lead = Lead(holder, seen.beat + 1)
            return self.books.lead

        return self.ask("lead", take)

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        return self.ask("usage", lambda: self.books.usage.find(asked))

    @contextmanager
    def usage_rows(self) -> Iterator[MemoryUsageRows]:
        """One statement here: each of the engine's steps writes once."""
        yield self.ask("usage", lambda: self.books.usage)

    def close(self) -> None:
        self._is_closed = True


class SharedTransaction:
    """The head lock of the Books; on Galera a snapshot that others may overtake."""

    def __init__(self, store: SharedStore) -> None:
        self.store = store
        self.last_at = store.place.world.time
        self._written: list[LogEntry] = []
        self._is_open = True
        self._is_cut = False
        self._start = store.books.end
        store.books.holder = self

    def ask(self, what: str, query: Callable[[], T]) -> T:
        """A statement within the transaction."""
        self.store.statements += 1
        place = self.store.place
        place.step(what)
        if self._is_cut:
            raise DefiniteAbort("The connection is lost: idle for too long.")
        for kind in (CUT, ABORT, FULL):
            if place.faults.strikes(kind):
                place.world.tell(f"{kind} at {what}")
                self.hang_up()
                if kind == FULL:
                    raise errors.StoreFailed("The disk is full.")
                raise DefiniteAbort(f"{kind} at {what}")
        answer = query()
        self.last_at = place.world.time
        place.maybe_crash(f"after {what}")
        return answer

    def now(self) -> int | None:
        return None

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        books, limit = self.store.books, self.store.options.tail_limit

        def tail() -> list[LogEntry] | None:
            self._start = books.end
            return books.tail(after, limit)

        return self.ask("tail", tail)

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        for table in {c.table: None for e in entries for c in e.changes}:
            self.ask(f"write {table}", lambda: None)
        self.ask("append to the log", lambda: self._compare(entries))
        self._written.extend(entries)
        for precondition in preconditions:
            self.ask(f"look at {precondition.table}", partial(self._look, precondition))

    def _look(self, precondition: Precondition) -> None:
        """No other program writes here, so that every precondition must hold."""
        if self.store.books.end != self._start:
            return
        after: dict[Key, Row | None] = dict(self.store.books.tables[precondition.table])
        for change in (c for entry in self._written for c in entry.changes):
            if change.table == precondition.table:
                after[change.key] = change.new
        found = set()
        for row in after.values():
            if row is not None:
                values = dict(
                    zip(COLUMNS[precondition.table], astuple(row), strict=True)
                )
                if values[precondition.by] in precondition.keys:
                    found.add(tuple(values[name] or 0 for name in precondition.columns))
        if found != precondition.rows:
            raise ForeignWrite(f"{precondition}: there is {found}")

    def _compare(self, entries: Sequence[LogEntry]) -> None:
        """Every row must equal the old row of the change."""
        if self.store.books.end != self._start:
            return  # another commit came first: ours will fail
        touched: dict[tuple[str, Key], Row | None] = {}
        for entry in entries:
            for change in entry.changes:
                place = (change.table, change.key)
                rows = self.store.books.tables[change.table]
                known = touched[place] if place in touched else rows.get(change.key)
                # The columns do not keep the times of links.
                are_links = isinstance(known, LinkRow) and change.old is not None
                if known != change.old and not are_links:
                    raise ForeignWrite(f"{place}: {known} is not {change.old}")
                touched[place] = change.new
                self._must_be_unique(change, touched)

    def _must_be_unique(
        self, change: Change, touched: dict[tuple[str, Key], Row | None]
    ) -> None:
        """As a database's own constraints: no other row has what is unique."""
        if change.new is None:
            return
        new = astuple(change.new)
        rows: dict[Key, Row | None] = dict(self.store.books.tables[change.table])
        rows |= {
            key: row for (name, key), row in touched.items() if name == change.table
        }
        del rows[change.key]
        others = [astuple(row) for row in rows.values() if row is not None]
        for places in UNIQUE[change.table]:
            mine = [new[place] for place in places]
            if None not in mine and mine in (
                [other[place] for place in places] for other in others
            ):
                raise ForeignWrite(f"{mine} would be twice in {change.table}")

    def commit(self) -> None:
        if not self._is_open:
            return
        place, books = self.store.place, self.store.books
        place.step("commit")
        fate = place.fate()
        if self._is_cut:
            raise UnknownOutcome("The connection was closed.")
        try:
            if fate == ABORT_COMMIT:
                raise DefiniteAbort("Deadlock found when trying to commit.")
            if fate == DROPPED:
                raise UnknownOutcome("The connection broke during COMMIT.")
            if books.end != self._start:
                raise DefiniteAbort("Certification failed: another node was first.")
            books.commit(self._written)
            if fate == KEPT:
                raise UnknownOutcome("The connection broke during COMMIT.")
        finally:
            self.hang_up()
        place.maybe_crash("after commit")

    def rollback(self) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        """The server ends the transaction."""
        self._is_open = False
        self._is_cut = True
        if self.store.books.holder is self:
            self.store.books.holder = None
            self.store.books.world.wake(self.store.books)
