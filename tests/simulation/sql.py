"""Stores on a real database whose connections have faults.

The faults are injected below the store, in the driver, so that the store's handling of
errors and connections is the real one. The locks that the store has for its own threads
are taken here first, in simulated time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, cast

from gantt import errors
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.database import Database, open_database
from gantt.store.interface import (
    ADVICE,
    DECISIONS,
    LEADER_TASKS,
    Asked,
    Chunks,
    Drop,
    Fingerprint,
    Lead,
    Page,
    Precondition,
    R,
    RecordPage,
    SideKind,
    SideTable,
    StoreOptions,
    Transaction,
    Trimmed,
    UsageRows,
)
from gantt.store.sql_store import SqlStore
from tests.simulation.drivers import Driver
from tests.simulation.fault_schedule import (
    ABORT,
    ABORT_COMMIT,
    CUT,
    DROPPED,
    FULL,
    KEPT,
)
from tests.simulation.place import Place
from tests.simulation.threads import SimLock
from tests.simulation.world import Crashed

if TYPE_CHECKING:
    from gantt.store.database.psycopg_connection import Pipeline

_LOCK_TIMEOUT_S = 10.0


class Wires:
    """All connections of all processes to one database.

    ``before_compaction`` is called under the head lock before log rows are dropped.
    """

    def __init__(self, options: StoreOptions) -> None:
        self.options = options
        self.open: list[Connection] = []
        self.before_compaction: Callable[[], None] = lambda: None

    def reap(self) -> None:
        """What a server does with sessions that are idle within a transaction."""
        for one in list(self.open):
            idle_s = one.place.world.time - one.last_at
            is_idle = one.is_within and idle_s > self.options.idle_timeout_s
            if is_idle and one.driver.hangs_up:
                one.place.world.tell(f"hangs up on {one.place}", "database")
                one.hang_up()

    def cut(self, place: Place) -> None:
        """The process was killed, and its connections closed."""
        for one in list(self.open):
            if one.place is place:
                one.hang_up()


class Connection:
    """A driver's connection, as the store's Session uses it."""

    def __init__(self, raw: Any, driver: Driver, place: Place, wires: Wires) -> None:
        self.raw = raw
        self.driver = driver
        self.place = place
        self.wires = wires
        self.is_within = False
        self.is_cut = False
        self.last_at = place.world.time
        self.wires.open.append(self)

    def cursor(self, *kind: Any, **options: Any) -> Cursors:
        return Cursors(self, self.raw.cursor(*kind, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # psycopg has autocommit as an attribute.
        if name == "autocommit":
            self.raw.autocommit = value
        else:
            super().__setattr__(name, value)

    def guard(self, what: str, kinds: Sequence[str]) -> None:
        """Before a statement. Raises the driver's error, or Crashed."""
        self.place.step(what)
        if self.is_cut:
            raise self.driver.error(CUT)
        for kind in kinds:
            if self.place.faults.strikes(kind):
                self.place.world.tell(f"{kind} at {what}")
                if kind == CUT and self.driver.hangs_up:
                    self.hang_up()
                raise self.driver.error(kind)
        self.last_at = self.place.world.time

    def send(self, what: str, send: Callable[[], object]) -> None:
        """Call ``send``, and wait for the result."""
        self.guard(what, (CUT, ABORT, FULL) if self.is_within else (CUT,))
        send()
        self.place.maybe_crash(f"after {what}")

    def take_head(self, send: Callable[[], object]) -> None:
        """Wait for the lock in simulated time; the database never waits long."""
        end = self.place.world.time + _LOCK_TIMEOUT_S
        while True:
            self.guard("begin", (CUT, ABORT))
            self.wires.reap()
            try:
                send()
            except self.driver.module.Error as error:
                left_s = end - self.place.world.time
                if left_s <= 0 or not self.driver.is_locked(error):
                    raise
                self.raw.rollback()
                self.place.world.wait(self.wires, min(left_s, 1.0))
            else:
                break
        self.is_within = True
        self.place.maybe_crash("after begin")

    def commit(self) -> None:
        self.guard("commit", ())
        fate = self.place.fate()
        if fate in (ABORT_COMMIT, DROPPED):
            self.raw.rollback()
        else:
            self.raw.commit()
        self.leave()
        if fate in (KEPT, DROPPED) and self.driver.hangs_up:
            self.hang_up()
        if fate is not None:
            raise self.driver.error(fate)
        self.place.maybe_crash("after commit")

    def rollback(self) -> None:
        if not self.is_cut:
            self.raw.rollback()
        self.leave()

    def leave(self) -> None:
        """The transaction is over."""
        if self.is_within:
            self.is_within = False
            self.place.world.wake(self.wires)

    def hang_up(self) -> None:
        """The connection is closed; what was pending is rolled back."""
        if not self.is_cut:
            self.is_cut = True
            self.wires.open.remove(self)
            self.driver.hang_up(self.raw)
        self.leave()


class Cursors:
    """The cursor of a Connection."""

    def __init__(self, connection: Connection, raw: Any) -> None:
        self._connection = connection
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def execute(self, text: str, values: Sequence[Any] = ()) -> None:
        def send() -> None:
            self._raw.execute(text, values)

        if _locks(text):
            self._connection.take_head(send)
        else:
            self._connection.send(_short(text), send)

    def executemany(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        if text.startswith("DELETE FROM gantt_log"):
            self._connection.wires.before_compaction()
        self._connection.send(_short(text), lambda: self._raw.executemany(text, rows))


class WiredPipeline:
    """PostgreSQL's own pipeline: faults occur before all of it is sent, or after."""

    def __init__(self, inner: Pipeline, connection: Connection) -> None:
        self._inner = inner
        self._connection = connection

    def cursor(self) -> Any:
        return self._inner.cursor()

    def leave(self) -> None:
        self._inner.leave()

    def __enter__(self) -> None:
        self._inner.__enter__()

    def __exit__(self, *failure: Any) -> None:
        if failure[0] is not None:
            self._inner.__exit__(*failure)
            return
        one, queued = self._connection, list(self._inner.queued)

        def send() -> None:
            self._inner.queued = list(queued)
            self._inner.__exit__(None, None, None)

        if any(_locks(sent.text) for sent in queued):
            one.take_head(send)
        else:
            one.send(f"{len(queued)} statements", send)


def _short(text: str) -> str:
    return " ".join(text.split()[:3])


def _locks(text: str) -> bool:
    return text.startswith("BEGIN IMMEDIATE") or "FOR UPDATE" in text


class _Pooled:
    """A pooled connection, as Session uses it."""

    def __init__(self, inner: Any, connection: Connection) -> None:
        self._inner = inner
        self.dbapi_connection = connection

    def _forget(self) -> None:
        connection = self.dbapi_connection
        connection.leave()
        if connection in connection.wires.open:
            connection.wires.open.remove(connection)

    def close(self) -> None:
        self._forget()
        self._inner.close()

    def invalidate(self) -> None:
        self._forget()
        self._inner.invalidate()


class WiredDatabase:
    """A Database whose connections are wired to the faults."""

    def __init__(self, inner: Database, place: Place, wires: Wires) -> None:
        self._inner = inner
        self._place = place
        self._wires = wires
        self._driver = Driver(inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def pipeline(self, connection: Connection) -> WiredPipeline | None:
        inner = self._inner.pipeline(connection.raw)
        if inner is None or self._place.faults.is_piecewise:
            return None
        return WiredPipeline(inner, connection)

    def connect(self) -> _Pooled:
        self._place.step("connect")
        if self._place.faults.strikes(CUT):
            self._place.world.tell("connection refused")
            raise errors.StoreFailed("simulated: the database cannot be reached")
        pooled = self._inner.connect()
        raw = pooled.dbapi_connection
        if self._driver.dialect == "mysql":
            cursor = pooled.cursor()
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 0")
            cursor.close()
        return _Pooled(pooled, Connection(raw, self._driver, self._place, self._wires))


class WiredStore:
    """An SqlStore whose locks between threads are the simulation's."""

    def __init__(self, url: str, place: Place, wires: Wires) -> None:
        self._wires = wires
        self._place = place
        database = WiredDatabase(open_database(url, wires.options), place, wires)
        self.inner = SqlStore(cast(Database, database))
        self._committer = SimLock(place.world, f"committer of {place}")
        self._reading = SimLock(place.world, f"reader of {place}")

    def beside(
        self, kind: SideKind[R, Asked, Drop]
    ) -> SideTable[R, Asked, Drop] | None:
        if kind.name not in (DECISIONS.name, ADVICE.name):
            return None  # no run is observed, and no host reports
        return _WiredTable(self.inner.beside(kind), self._committer)

    @property
    def url(self) -> str:
        return self.inner.url

    @property
    def statements(self) -> int:
        return self.inner.statements

    def fold(self, name: str) -> str:
        return self.inner.fold(name)

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return self.inner.as_kept(changes)

    def identity(self) -> str:
        with self._reading:
            return self.inner.identity()

    def load(self) -> tuple[Cursor, Chunks]:
        return self.inner.load()

    def cursor(self) -> Cursor:
        with self._reading:
            return self.inner.cursor()

    def cursor_at_once(self) -> Cursor | None:
        return self.inner.cursor_at_once()

    def now(self) -> int | None:
        with self._reading:
            return self.inner.now()

    def stamp(self) -> int:
        with self._reading:
            return self.inner.stamp()

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        with self._reading:
            return self.inner.tail(after)

    def begin(self) -> Transaction:
        self._committer.acquire()
        try:
            return _WiredTransaction(self.inner.begin(), self._committer)
        except BaseException:
            self._committer.release()
            raise

    def check_writable(self) -> None:
        """Its faults come with writes."""

    def has_batch(self, end: Cursor) -> bool | None:
        with self._committer:
            return self.inner.has_batch(end)

    def fingerprint(self) -> Fingerprint:
        return self.inner.fingerprint()

    def saved_fingerprint(self) -> Fingerprint | None:
        with self._reading:
            return self.inner.saved_fingerprint()

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        with self._committer:
            self.inner.save_fingerprint(fingerprint)

    def history(self, after: Cursor) -> Page:
        with self._reading:
            return self.inner.history(after)

    def leader(self, of: int = LEADER_TASKS) -> Lead:
        with self._reading:
            return self.inner.leader(of)

    def lead(self, holder: str, seen: Lead, of: int = LEADER_TASKS) -> Lead | None:
        with self._committer:
            return self.inner.lead(holder, seen, of)

    def compact(self, keep: int) -> int:
        with self._committer:
            return self.inner.compact(keep)

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        with self._reading:
            return self.inner.usage_history(asked)

    @contextmanager
    def usage_rows(self) -> Iterator[UsageRows]:
        with self._committer, self.inner.usage_rows() as rows:
            yield rows

    def close(self) -> None:
        with self._committer, self._reading:
            self.inner.close()

    def cut(self) -> None:
        """Clear up after a process that was killed."""
        self._wires.cut(self._place)
        with suppress(Crashed):
            self.inner.close()


class _WiredTable(Generic[R, Asked, Drop]):
    """A table beside the books, one thread at a time."""

    def __init__(self, inner: SideTable[R, Asked, Drop], committer: SimLock) -> None:
        self._inner = inner
        self._committer = committer

    def append(self, rows: Sequence[R]) -> int:
        with self._committer:
            return self._inner.append(rows)

    def page(self, asked: Asked) -> RecordPage[R]:
        with self._committer:
            return self._inner.page(asked)

    def trim(self, drop: Drop) -> Trimmed:
        with self._committer:
            return self._inner.trim(drop)


class _WiredTransaction:
    """A transaction that gives up the committer of its process at its end."""

    def __init__(self, inner: Transaction, committer: SimLock) -> None:
        self._inner = inner
        self._committer = committer
        self._is_open = True

    def now(self) -> int | None:
        return self._inner.now()

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        return self._inner.tail(after)

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        self._inner.write(entries, preconditions)

    def commit(self) -> None:
        try:
            self._inner.commit()
        finally:
            self._leave()

    def rollback(self) -> None:
        try:
            self._inner.rollback()
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._is_open:
            self._is_open = False
            self._committer.release()
