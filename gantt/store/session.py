"""Connections of the driver, with their errors translated to outcomes.

Apart from, and below, SQLAlchemy's Connection, because the committer sends few
statements many times: their texts are compiled once and rows go to the driver as
tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from gantt import errors
from gantt.model.changes import Cursor
from gantt.store.database import Bulk, Database
from gantt.store.outcomes import CommitOutcome

if TYPE_CHECKING:
    from gantt.store.database.psycopg_connection import Pipeline

Values = Sequence[Any]
T = TypeVar("T")


class Counter:
    """How many statements were sent; an executemany is one."""

    def __init__(self) -> None:
        self.statements = 0


class StatementResult(Struct, eq=False):
    """The result of a statement, once it was waited for.

    ``rows``: all of a query. ``count``: how many rows it touched.
    """

    cursors: list[Any]
    rows: list[Any] = []
    count: int = 0


class Session:
    """A connection for the use of one thread at a time."""

    def __init__(self, database: Database, counter: Counter) -> None:
        self._database = database
        self._counter = counter
        # The query for the database's clock; None: it has none.
        self.clock = database.clock
        self._errors = database.driver_errors
        self._pooled = database.connect()
        driver: Any = self._pooled.dbapi_connection
        self._driver = driver
        self._cursor = self._driver.cursor()
        self._open_cursor: Callable[[], Any] = self._driver.cursor
        self._pipeline: Pipeline | None = None
        self.is_lost = False
        # Lost because the server was silent: a new connection would wait as long.
        self.is_silent = False
        self._is_discarded = False
        # By table: the value to which this connection advanced its sequence.
        self.advanced: dict[str, int] = {}
        # Within ``together``: the answers to wait for at its end.
        self._sent: list[StatementResult] | None = None

    def now(self) -> int | None:
        """The database's clock in microseconds UTC; None: it has none."""
        return None if self.clock is None else int(self.one(self.clock)[0])

    def execute(self, text: str, values: Values = ()) -> Any:
        """Send a statement; the cursor to fetch from. Raises an outcome."""
        self._counter.statements += 1
        try:
            self._cursor.execute(text, values)
        except self._errors as error:
            raise self._translated(error) from error
        return self._cursor

    def execute_many(self, text: str, rows: Sequence[Values]) -> int:
        """Send one statement for all rows; how many rows it touched."""
        self._counter.statements += 1
        try:
            self._cursor.executemany(text, rows)
        except self._errors as error:
            raise self._translated(error) from error
        return int(self._cursor.rowcount)

    def together(self) -> _Together:
        """For ``with``: wait only once for all that is sent within, if the database
        supports it. Raises the outcome of the first that fails; none after it is
        carried out."""
        if self._database.has_pipeline and self._pipeline is None:
            try:
                self._pipeline = self._database.pipeline(self._driver)
            except self._errors as error:
                raise self._translated(error) from error
        return _Together(self)

    def send(self, text: str, values: Values = ()) -> StatementResult:
        """Send a statement; its answer is filled once it was waited for."""
        self._counter.statements += 1
        try:
            cursor = self._open_cursor()
            cursor.execute(text, values)
            answer = StatementResult([cursor])
            if self._sent is None:
                _read([answer])
            else:
                self._sent.append(answer)
        except self._errors as error:
            raise self._translated(error) from error
        return answer

    def send_rows(self, bulk: Bulk, rows: Sequence[Values]) -> StatementResult:
        """Sends one statement on many rows."""
        self._counter.statements += 1
        try:
            answer = StatementResult(bulk.send(self._open_cursor, rows))
            if self._sent is None:
                _read([answer])
            else:
                self._sent.append(answer)
        except self._errors as error:
            raise self._translated(error) from error
        return answer

    def one(self, text: str, values: Values = ()) -> Any:
        """The first row of the answer, or None."""
        self._counter.statements += 1
        try:
            self._cursor.execute(text, values)
            return self._cursor.fetchone()
        except self._errors as error:
            raise self._translated(error) from error

    def all(self, text: str, values: Values = ()) -> list[Any]:
        return list(self._fetched(self.execute(text, values).fetchall))

    def chunks(self, text: str, size: int) -> Iterator[Any]:
        """The rows of the answer, in lists of at most ``size``."""
        self._counter.statements += 1
        cursor = self._database.stream(self._driver)
        try:
            self._fetched(lambda: cursor.execute(text))
            while chunk := self._fetched(lambda: cursor.fetchmany(size)):
                yield chunk
            cursor.close()
        except BaseException:
            # The rest is not needed, and the connection is in the middle of it.
            self._database.abandon(cursor)
            self.discard()
            raise

    def start(self, statements: Sequence[str]) -> None:
        """Open a transaction as the database wants it opened."""
        for statement in statements:
            self.execute(statement)

    def commit(self) -> None:
        """Raises DefiniteAbort, ForeignWrite, DataError or UnknownOutcome; the
        transaction is over in any case."""
        self._counter.statements += 1
        try:
            self._driver.commit()
        except self._errors as error:
            outcome = self._database.classify_commit(error)
            self.is_lost = self._database.is_lost(error)
            self.rollback()
            raise outcome from error
        except BaseException:
            self.discard()
            raise

    def rollback(self) -> None:
        """Undo what is pending; a connection that cannot do so is discarded."""
        if self.is_lost:
            self.discard()
            return
        try:
            self._driver.rollback()
        except Exception:  # of any kind: this connection is unusable
            self.discard()

    def set_autocommit(self) -> None:
        """From now on each statement is a transaction of its own."""
        try:
            self._database.set_autocommit(self._driver)
        except self._errors as error:
            raise self._translated(error) from error

    def close(self) -> None:
        """Give the connection back to the pool."""
        if self.is_lost:
            self.discard()
        else:
            self._leave_pipeline()
            self._pooled.close()

    def discard(self) -> None:
        """Close the connection for good; whatever is pending is rolled back."""
        self.is_lost = True
        if not self._is_discarded:
            self._is_discarded = True
            self._leave_pipeline()
            self._pooled.invalidate()

    def _leave_pipeline(self) -> None:
        if self._pipeline is not None:
            self._pipeline.leave()
            self._pipeline = None

    def _fetched(self, fetch: Any) -> Any:
        try:
            return fetch()
        except self._errors as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> Exception:
        self.is_lost = self.is_lost or self._database.is_lost(error)
        self.is_silent = self.is_silent or self._database.is_silence(error)
        return self._database.classify(error)


class _Together(Struct):
    session: Session

    def __enter__(self) -> None:
        session = self.session
        session._sent = []
        if session._pipeline is not None:
            session._pipeline.__enter__()
            session._open_cursor = session._pipeline.cursor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        session, failure = self.session, error
        sent, session._sent = session._sent or [], None
        session._open_cursor = session._driver.cursor
        try:
            if session._pipeline is not None:
                session._pipeline.__exit__(kind, error, trace)
            if error is None:
                _read(sent)
        except BaseException as raised:
            failure = raised
        if failure is None:
            return
        session.advanced.clear()  # some statements may not have been carried out
        if session._pipeline is None:
            _drop(sent)
        if isinstance(failure, session._errors):
            raise session._translated(failure) from failure
        if failure is not error:
            raise failure


def _read(sent: Sequence[StatementResult]) -> None:
    """Read answers to their end: SQLite holds its lock until then."""
    for answer in sent:
        for cursor in answer.cursors:
            answer.count += int(cursor.rowcount)
            if cursor.description is not None:
                answer.rows += cursor.fetchall()


def _drop(sent: Sequence[StatementResult]) -> None:
    """Discard answers unread: else SQLite would keep its read lock, past a rollback,
    for as long as the error with its frames is referenced."""
    for answer in sent:
        for cursor in answer.cursors:
            with suppress(Exception):  # the connection may be gone
                cursor.close()


@contextmanager
def failing(url: str) -> Iterator[None]:
    """Outcomes within become errors: the callers do not settle them."""
    try:
        yield
    except CommitOutcome as outcome:
        raise as_failure(outcome, url) from outcome


def as_failure(outcome: CommitOutcome, url: str) -> errors.StoreFailed:
    """An outcome as an error for callers that do not settle it."""
    return errors.StoreFailed(f"The database {url} did not answer: {outcome}")


class ReadSession(Session):
    """A session and what it last saw: a hint belongs to its connection."""

    def __init__(self, database: Database, counter: Counter) -> None:
        super().__init__(database, counter)
        self.seen: tuple[int, Cursor] | None = None
        try:
            self.set_autocommit()  # which asks the server, on MariaDB
        except BaseException:
            self.discard()
            raise


class Readers:
    """Connections for small reads, so that readers of a server do not queue: at most
    ``most`` (0: ``options.pool_size``), opened as they are needed. ``lists``: others,
    which long lists use, so that these never take all."""

    def __init__(self, database: Database, counter: Counter, most: int = 0) -> None:
        self._database = database
        self._counter = counter
        self._free: list[ReadSession] = []
        # Earlier queries may wait no longer for the database.
        self._limit_s = 2 * database.lost_s
        self._seats: SimpleQueue[None] = SimpleQueue()
        self._most = most or database.options.pool_size
        few = database.options.list_connections
        self.lists = self if most else Readers(database, counter, few)
        for _ in range(self._most):
            self._seats.put(None)
        self.is_closed = False
        # For ``read_at_once``, and whether a thread uses it.
        self._prompt: ReadSession | None = None
        self._prompting = Lock()

    def read_at_once(self, query: Callable[[ReadSession], T]) -> T | None:
        """The result of ``query`` on a connection that waits for no lock; None if there
        is no such connection, another thread uses it, or ``query`` fails."""
        no_wait = self._database.no_wait
        if no_wait is None or not self._prompting.acquire(blocking=False):
            return None
        try:
            self._database.check_place()
            if self._prompt is None:
                self.require_open()
                self._prompt = ReadSession(self._database, self._counter)
                self._prompt.execute(no_wait)
            return query(self._prompt)
        except (CommitOutcome, errors.StoreFailed):
            self._drop_prompt()
            return None
        finally:
            self._prompting.release()

    def _drop_prompt(self) -> None:
        """Close its connection: another must not get one that waits for nothing."""
        if self._prompt is not None:
            self._prompt.discard()
            self._prompt = None

    def read(self, query: Callable[[ReadSession], T]) -> T:
        """The result of ``query``, repeated once if the connection broke. Raises
        StoreFailed."""
        try:
            self._seats.get(timeout=self._limit_s)
        except Empty:
            raise errors.StoreFailed(
                f"All {self._most} connections for such reads of "
                f"{self._database.url} have been in use for {self._limit_s} s. Check "
                "whether it answers, and try again later."
            ) from None
        try:
            self._database.check_place()
            while (reader := self._taken()) is not None:
                try:
                    return self._ask(reader, query)
                except CommitOutcome as outcome:
                    if not reader.is_lost or reader.is_silent:
                        raise as_failure(outcome, self._database.url) from outcome
            self.require_open()
            try:
                return self._ask(ReadSession(self._database, self._counter), query)
            except CommitOutcome as outcome:
                raise as_failure(outcome, self._database.url) from outcome
        finally:
            self._seats.put(None)

    def require_open(self) -> None:
        """Raises StoreFailed once it is closed."""
        if self.is_closed:
            raise errors.StoreFailed(f"The store {self._database.url} is closed.")

    def close(self) -> None:
        """Close all connections, after the queries that are under way."""
        self.is_closed = True
        if self.lists is not self:
            self.lists.close()
        with self._prompting:
            self._drop_prompt()
        while (reader := self._taken()) is not None:
            reader.discard()

    def _taken(self) -> ReadSession | None:
        try:
            return self._free.pop()  # the one used last: its caches are warm
        except IndexError:
            return None

    def _ask(self, reader: ReadSession, query: Callable[[ReadSession], T]) -> T:
        """Its result; the connection returns to the others, unless it broke."""
        try:
            return query(reader)
        finally:
            if reader.is_lost:
                reader.discard()
            else:
                self._free.append(reader)
            if self.is_closed:
                self.close()
