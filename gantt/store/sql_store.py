"""The store on SQL: connections, the head lock, and the meaning of their failures.

Apart from the statements that it sends (``load``, ``write``, ``changelog``, …): here is
only the order of connecting, locking, committing and giving back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, TypeVar

from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store import schema
from gantt.store.background.beside_books import BesideBooks
from gantt.store.background.fingerprint import Fingerprints
from gantt.store.background.heartbeat_table import HeartbeatTable
from gantt.store.background.leader import LeaderTable
from gantt.store.background.record_tables import SHAPES, RecordTable
from gantt.store.background.usage_history_table import SqlUsageRows, UsageHistoryTable
from gantt.store.changelog.codec import LogTable
from gantt.store.changelog.history import Compactor, LogHistory
from gantt.store.database import Database, open_database
from gantt.store.head import HeadRow
from gantt.store.interface import (
    FEEDS,
    HEARTBEATS,
    LEADER_TASKS,
    Asked,
    Chunks,
    Drop,
    Fingerprint,
    Lead,
    Page,
    Precondition,
    Progress,
    R,
    SideKind,
    SideTable,
    StoreOptions,
)
from gantt.store.loader import Loader
from gantt.store.outcomes import CommitOutcome, DefiniteAbort
from gantt.store.row_writer import Writer, check, check_preconditions
from gantt.store.session import (
    Counter,
    Readers,
    ReadSession,
    Session,
    as_failure,
    failing,
)

T = TypeVar("T")
Along = Callable[[Session], None]


def _tables(
    database: Database, readers: Readers, counter: Counter, committer: threading.Lock
) -> dict[str, SideTable[Any, Any, Any]]:
    """What lies beside the books, by kind."""
    beside = BesideBooks(database, readers, counter, committer)
    records = {name: RecordTable(beside, shape) for name, shape in SHAPES.items()}
    return {HEARTBEATS.name: HeartbeatTable(beside), **records}


class SqlStore:
    """Rows and log in a database that ``schema.check`` accepted."""

    @classmethod
    def open(
        cls, url: str, options: StoreOptions, progress: Progress | None = None
    ) -> SqlStore:
        """Connect and check. Raises errors.Refused."""
        if options.create:
            schema.sync(url, options, spares_newer=True)
        database = open_database(url, options)
        try:
            schema.check_database(database)
            with closing(Session(database, Counter())) as session:
                database.learn(session.all)
        except BaseException:
            database.close()
            raise
        return cls(database, progress)

    def __init__(self, database: Database, progress: Progress | None = None) -> None:
        self._database = database
        self._counter = Counter()
        self.fold, self.as_kept = database.fold, database.as_kept
        self.log = LogTable(database)
        self.writer = Writer(database)
        self._loader = Loader(database, progress)
        self._history = LogHistory(database)
        self._head = HeadRow(database)
        self._fingerprints = Fingerprints(database)
        self._compactor = Compactor(database)
        self._leads = {one: LeaderTable(database, one) for one in (LEADER_TASKS, FEEDS)}
        self._usage = UsageHistoryTable(database)
        self._committer = threading.Lock()
        self._writing: Session | None = None
        # What the engine read last: the committer asks for what follows with the lock.
        self.reached = 0
        self._readers = Readers(database, self._counter)
        self._read = self._readers.read
        self.check_writable = partial(
            self._leads[LEADER_TASKS].check_writable, self._read
        )
        self._beside = _tables(database, self._readers, self._counter, self._committer)

    @property
    def url(self) -> str:
        return self._database.url

    @property
    def statements(self) -> int:
        return self._counter.statements

    def cursor(self) -> Cursor:
        return self._read(self._look)

    def cursor_at_once(self) -> Cursor | None:
        return self._readers.read_at_once(self._look)

    def now(self) -> int | None:
        return self._read(Session.now)

    def stamp(self) -> int:
        return self._read(self.log.stamp)

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        entries = self._read(lambda session: self.log.tail(session, after))
        self.reached = entries[-1].revision if entries else after.revision
        return entries

    def history(self, after: Cursor) -> Page:
        return self._history.page(self._read, after)

    def _look(self, reader: ReadSession) -> Cursor:
        """The end of the log; queried only if another connection has committed."""
        hint = self._database.hint
        if hint is None:
            return self.log.end(reader)
        # The hint first: a commit in between is then found by the next call.
        version = reader.one(hint)[0]
        if reader.seen is None or reader.seen[0] != version:
            reader.seen = (version, self.log.end(reader))
        return reader.seen[1]

    def identity(self) -> str:
        return self._read(self._head.identity)

    def load(self) -> tuple[Cursor, Chunks]:
        session = self._snapshot()
        try:
            with failing(self.url):
                self._head.read(session)
                cursor = self.log.end(session)
        except BaseException:
            session.discard()
            raise
        self.reached = cursor.revision  # where the first batch asks for the log from
        return cursor, self._loaded(session)

    def _loaded(self, session: Session) -> Chunks:
        try:
            with failing(self.url):
                yield from self._loader.rows(session)
        finally:
            # Not back to the pool: its page cache is useless now.
            session.discard()

    def _snapshot(self) -> Session:
        self._readers.require_open()
        self._database.check_place()
        session = Session(self._database, self._counter)
        try:
            with failing(self.url):
                session.start(self._database.snapshot)
        except BaseException:
            session.discard()
            raise
        return session

    def begin(self) -> SqlTransaction:
        return SqlTransaction(self)

    def take_head(self, along: Along | None = None) -> Session:
        """The writer's connection with the head lock; ``along`` sends what is to be
        carried out right after it."""
        self._database.check_place()
        if not self._committer.acquire(timeout=self._database.options.lock_timeout_s):
            raise DefiniteAbort(f"The committer of {self.url} was not free in time.")
        try:
            return self._locked_session(along)
        except BaseException:
            self._committer.release()
            raise

    def _locked_session(self, along: Along | None) -> Session:
        """Lock on the open connection; on a new one if that broke."""
        if self._writing is not None:
            try:
                return self._lock(self._writing, along)
            except CommitOutcome:
                if not self._writing.is_lost:
                    raise
                self._writing = None
        self._readers.require_open()
        session = Session(self._database, self._counter)
        try:
            self._writing = self._lock(session, along)
        except DefiniteAbort as abort:
            if session.is_lost:
                raise as_failure(abort, self.url) from abort
            raise
        return session

    def _lock(self, session: Session, along: Along | None) -> Session:
        try:
            with session.together():
                session.start(self._database.begin)
                head = self._head.lock(session)
                if along is not None:
                    along(session)
            self._head.judge(head.rows[0] if head.rows else None)
        except BaseException:
            session.rollback()
            if session is not self._writing:
                session.close()
            raise
        return session

    def finish(self, session: Session, end: Callable[[], None]) -> None:
        """Run ``end`` (commit or rollback), and release the committer in any case."""
        try:
            end()
        finally:
            if session.is_lost:
                self._writing = None
            self._committer.release()

    @contextmanager
    def _under_head_lock(self) -> Iterator[Session]:
        """A write on behalf of no client, under the head lock; it fails as a whole."""
        with failing(self.url):
            session = self.take_head()
            try:
                yield session
            except BaseException:
                self.finish(session, session.rollback)
                raise
            self.finish(session, session.commit)

    def has_batch(self, end: Cursor) -> bool | None:
        session = self.take_head()
        try:
            return self.log.has_batch(session, end)
        finally:
            # Nothing was written: a COMMIT could only add another unknown outcome.
            self.finish(session, session.rollback)

    # Beside the books: no client waits for it.

    def beside(self, kind: SideKind[R, Asked, Drop]) -> SideTable[R, Asked, Drop]:
        return self._beside[kind.name]

    def fingerprint(self) -> Fingerprint:
        session = self._snapshot()
        try:
            with failing(self.url):
                return self._fingerprints.take(session)
        finally:
            # Not back to the pool, where the committer could get a snapshot that idles.
            session.discard()

    def saved_fingerprint(self) -> Fingerprint | None:
        return self._read(self._fingerprints.saved)

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        with self._under_head_lock() as session:
            self._fingerprints.save(session, fingerprint)

    def compact(self, keep: int) -> int:
        total = 0
        while True:
            with self._under_head_lock() as session:
                dropped = self._compactor.step(session, keep)
            total += dropped
            if not dropped:
                return total

    def leader(self, of: int = LEADER_TASKS) -> Lead:
        return self._read(self._leads[of].read)

    def lead(self, holder: str, seen: Lead, of: int = LEADER_TASKS) -> Lead | None:
        with self._under_head_lock() as session:
            return self._leads[of].take(session, holder, seen)

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        return self._readers.lists.read(lambda one: self._usage.find(one, asked))

    @contextmanager
    def usage_rows(self) -> Iterator[SqlUsageRows]:
        with self._under_head_lock() as session:
            yield SqlUsageRows(self._usage, session)

    def close(self) -> None:
        self._readers.close()
        # Wait for a commit that is under way, but not without limit.
        is_mine = self._committer.acquire(timeout=self._database.options.lock_timeout_s)
        if self._writing is not None:
            self._writing.discard()
            self._writing = None
        if is_mine:
            self._committer.release()
        self._database.close()


class SqlTransaction:
    """The head lock of an SqlStore, until ``commit`` or ``rollback``."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._session = store.take_head(self._ask)
        self._is_open = True

    def _ask(self, session: Session) -> None:
        """Send the queries of every batch right behind that for the lock: each sees the
        database as it is once the one before it was carried out."""
        clock = session.clock
        self._clock = None if clock is None else session.send(clock)
        self._from = self._store.reached
        self._tail = self._store.log.ask(session, self._from)

    def now(self) -> int | None:
        return None if self._clock is None else int(self._clock.rows[0][0])

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        log, found = self._store.log, self._tail.rows
        if self._from != after.revision:
            # Readers may have advanced while this waited for the lock.
            is_whole = self._from < after.revision and not log.is_cut(found, self._from)
            found = [row for row in found if is_whole and row[0] >= after.revision]
        if found or self._from == after.revision:
            entries = log.read(self._session, found, after)
        else:
            entries = log.tail(self._session, after)
        self._store.reached = entries[-1].revision if entries else after.revision
        return entries

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        with self._session.together():
            changes: list[Change] = []
            for entry in entries:
                changes += entry.changes
            sent = self._store.writer.send(self._session, changes)
            if entries:
                self._store.log.append(self._session, entries)
            asked = self._store.writer.ask(self._session, preconditions)
        check(sent)
        check_preconditions(asked)
        if entries:
            self._store.reached = entries[-1].revision

    def commit(self) -> None:
        if self._is_open:
            self._is_open = False
            self._store.finish(self._session, self._session.commit)

    def rollback(self) -> None:
        if self._is_open:
            self._is_open = False
            self._store.finish(self._session, self._session.rollback)
