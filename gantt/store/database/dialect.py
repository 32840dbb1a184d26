"""What the store needs of every database.

Apart from the dialects, so that the rest of the store sees one type: how to connect,
take the head lock, read one snapshot or the clock, and classify an error.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Integer,
    Select,
    Table,
    bindparam,
    create_engine,
    event,
    exc,
    insert,
    literal_column,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.expression import ClauseElement

from gantt import errors
from gantt.model.changes import Change
from gantt.store import time_columns
from gantt.store.database.bulk import Bulks
from gantt.store.database.url import shown
from gantt.store.interface import StoreOptions
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite, UnknownOutcome

if TYPE_CHECKING:
    from gantt.store.database.psycopg_connection import Pipeline

LOG = logging.getLogger(__name__)
POOLED = (
    "settings of a connection do not last; a pooler in between must keep one session "
    "for each connection (PgBouncer: pool_mode = session)"
)

MAKE_IT = (
    "create it with CREATE DATABASE on the server, or correct its name in the URL; "
    "`gantt-manage db sync` creates only the tables."
)

READ_ONLY = (
    "it is read-only, as a standby is: name the server that takes writes, or end that "
    "(default_transaction_read_only, read_only)."
)

# Seconds between TCP probes of a silent peer, and how many may go unanswered.
PROBE_S, PROBES = 2, 3
CONNECT_S = 10

UNKNOWN = "unknown"  # to this server, or not readable


class Statement(Struct, frozen=True):
    """SQL text, and how to order named values into its parameters."""

    text: str
    names: tuple[str, ...]

    def values(self, **named: Any) -> list[Any]:
        return [named[name] for name in self.names]


def limited(query: Select[Any], most: int | str) -> Select[Any]:
    """The first ``most`` rows of ``query``; a parameter if it is a name. (SQLite would
    make one of an offset that is not in the text.)"""
    if isinstance(most, str):
        query = query.limit(bindparam(most, type_=Integer))
    else:
        query = query.limit(literal_column(str(most)))
    return query.offset(literal_column("0"))


class Database:
    """One database by its URL; subclasses hold what a dialect does differently."""

    # Statements that open a writing transaction, before the row lock.
    begin: ClassVar[tuple[str, ...]] = ()
    # Statements before a write that may be lost if the machine or the server fails.
    begin_lightly: ClassVar[tuple[str, ...]] = ()
    # Whether the head row is locked by reading it; else ``begin`` locks the database.
    has_row_lock: ClassVar[bool] = True
    # Statements that exclude other migrations until the transaction ends.
    migrate: tuple[str, ...] = ()
    # Statements that open a transaction which reads one snapshot.
    snapshot: ClassVar[tuple[str, ...]] = ()
    # The clock in whole microseconds; None: use the clock of the process.
    clock: ClassVar[str | None] = None
    # A cheap number that changes whenever another connection has committed.
    hint: ClassVar[str | None] = None
    has_pipeline: ClassVar[bool] = False
    # Makes a connection fail where others wait for a lock; None: it waits for a server
    # in any case.
    no_wait: ClassVar[str | None] = None
    # The server session behind a connection; None: there is no server.
    session_id: ClassVar[str | None] = None
    # Advances the sequence of a table (second parameter) past an id (first).
    advance: ClassVar[str | None] = None

    # Where the tables can be if another program has some in the same place.
    own_place: ClassVar[str] = "a database of its own"

    # Settings by name and value, as they are now: those that ``settings`` sets, and
    # relevant ones of the server.
    read_back: ClassVar[str] = ""

    # How statements for many rows are built.
    bulks: ClassVar[type[Bulks]] = Bulks

    to_time: Callable[[int | None], Any] = staticmethod(time_columns.to_datetime)

    def __init__(self, url: URL, options: StoreOptions) -> None:
        self.url = shown(url.set(drivername=url.get_backend_name()))
        self.options = options
        self.engine = self._make_engine(url)
        self.bulk = self.bulks(self.engine.dialect)
        # Whether ``check_settings`` is applied to new connections.
        self.is_in_use = False
        self._warned: set[str] = set()
        event.listen(self.engine, "connect", self._prepare)
        # The pool's own tests of a connection are bounded; a session that uses it may
        # load all tables, or migrate. ``set_autocommit`` is for small reads.
        event.listen(self.engine, "checkout", lambda found, *_: self.bound(found, None))
        event.listen(
            self.engine, "checkin", lambda found, *_: self.bound(found, self.lost_s)
        )

    def _make_engine(self, url: URL, **more: Any) -> Engine:
        # Positional parameters: rows go to the driver as tuples, unconverted.
        return create_engine(
            url,
            paramstyle="format",
            isolation_level="READ COMMITTED",
            pool_size=self.options.pool_size,
            pool_recycle=3600,
            # Writers and readers keep theirs: checkouts are rare and must be alive.
            pool_pre_ping=True,
            **more,
        )

    def _prepare(self, connection: DBAPIConnection, _record: object) -> None:
        """Set what every connection needs. Raises StoreFailed where a setting must
        stick and does not."""
        cursor = connection.cursor()
        for statement in self.settings():
            cursor.execute(statement)
        self._prepare_more(cursor)
        if self.is_in_use:
            cursor.execute(self.read_back)
            self.check_settings(cursor.fetchall())
        cursor.close()
        connection.commit()

    def _prepare_more(self, cursor: Any) -> None:
        """Settings that not every server of a kind knows."""

    def check_settings(self, rows: Iterable[Any]) -> None:
        """Warn the operator, once, of settings in the answer to ``read_back`` that make
        commits less durable or did not stick. Raises StoreFailed for those that would
        make answers wrong."""
        for warning in self.warnings({str(name): str(value) for name, value in rows}):
            self.warn(warning)

    def check_writable(self) -> None:
        """Raises StoreFailed where that can be told without a query."""

    @property
    def silence_s(self) -> int:
        """After so many seconds TCP probes a silent peer."""
        return max(1, int(self.options.idle_timeout_s))

    @property
    def lost_s(self) -> int:
        """After so many seconds of silence it is considered gone."""
        return self.silence_s + PROBE_S * PROBES

    def bound(self, connection: Any, silence_s: float | None) -> None:
        """From now on statements of a driver's connection wait so long for an answer;
        None: without limit. A database without a server always answers."""

    def is_silence(self, error: Exception) -> bool:
        """Whether the server exceeded the limit of ``bound``."""
        del error
        return False

    def settings(self) -> tuple[str, ...]:
        """Statements for each new connection."""
        return ()

    def connect(self) -> PoolProxiedConnection:
        """A connection from the pool. Raises StoreFailed."""
        try:
            return self.engine.raw_connection()
        except (exc.SQLAlchemyError, *self.driver_errors) as error:  # type: ignore[misc]
            cause = getattr(error, "orig", None) or error
            raise self.failure(cause) from error

    def close(self) -> None:
        self.engine.dispose()

    def compile(self, statement: ClauseElement) -> Statement:
        """The text of a Core statement in this dialect, with positional parameters."""
        compiled = statement.compile(dialect=self.engine.dialect)
        names = getattr(compiled, "positiontup", None) or ()
        constants = {n: v for n, v in compiled.params.items() if v is not None}
        assert not constants, f"not part of the text: {constants}"
        return Statement(str(compiled), tuple(names))

    @property
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Errors of the driver, and of its conversion of values."""
        driver = self.engine.dialect.loaded_dbapi
        return (driver.Error, OverflowError, UnicodeError)

    def set_autocommit(self, connection: Any) -> None:
        """Make a driver's connection commit each statement by itself, and bound each as
        a small read."""
        self.bound(connection, self.lost_s)
        connection.autocommit = True

    def pipeline(self, connection: Any) -> Pipeline | None:
        """Sends many statements in one piece, where ``has_pipeline``, if the driver
        supports it."""
        del connection
        return None

    def stream(self, connection: Any) -> Any:
        """A cursor that returns the first rows before it has the last."""
        return connection.cursor()

    def abandon(self, cursor: Any) -> None:
        """Drop the rest of such a cursor; its connection is closed next."""

    def pour(
        self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]
    ) -> None:
        """Insert many rows, in the order of the columns of ``table``."""
        names = table.c.keys()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        connection.execute(insert(table), found)

    def fold(self, name: str) -> str:
        """``name`` as this database compares it for uniqueness."""
        return name

    def learn(self, ask: Callable[[str], list[Any]]) -> None:
        """Find out what depends on the server; ``ask`` returns the rows of a query."""
        del ask

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes as the tables will return them."""
        return changes

    def warnings(self, found: Mapping[str, str]) -> list[str]:
        """Warnings about settings as they were ``found``. Raises StoreFailed."""
        del found
        return []

    def refusal(self) -> str | None:
        """Why there is no usable database at this URL, before connecting."""
        return None

    def check_place(self) -> None:
        """Raises StoreFailed if the URL no longer names the file that is open."""

    def failure(self, error: BaseException) -> errors.StoreFailed:
        """This error as one that stops all work on the database, with advice."""
        advice = self.advice(error) or "is it running, and may this user use it?"
        return errors.StoreFailed(
            f"The database {self.url} failed ({one_line(error)}): {advice}"
        )

    def command(self, words: str) -> str:
        """``gantt-manage`` and ``words`` on this database, as it was named, ready to
        paste except for a password."""
        named = self.options.named
        if named is None:
            # The engine of SQLite opens files by itself: its URL names none.
            is_file = self.engine.url.get_backend_name() == "sqlite"
            url = self.url if is_file else shown(self.engine.url)
            named = shlex.join(("--database", url))
        return f"`gantt-manage {named} {words}`" if named else f"`gantt-manage {words}`"

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error; None: unknown."""
        del error
        return None

    def warn(self, text: str) -> None:
        """Log a warning for the operator, once."""
        if text not in self._warned:
            self._warned.add(text)
            LOG.warning("%s: %s", self.url, text)

    def is_lost(self, error: Exception) -> bool:
        """Whether the connection is gone with this error."""
        return bool(self.engine.dialect.is_disconnect(error, None, None))  # type: ignore[arg-type]

    def classify(self, error: Exception) -> Exception:
        """The outcome of an error of the driver before COMMIT was sent."""
        text = one_line(error)
        if isinstance(error, (OverflowError, UnicodeError)):
            return DataError(text)
        if self.is_lost(error):
            return DefiniteAbort(f"The connection is lost: {text}")
        meaning = self._meaning(error)
        return self.failure(error) if meaning is errors.StoreFailed else meaning(text)

    def classify_commit(self, error: Exception) -> Exception:
        """The outcome of an error during COMMIT."""
        text = one_line(error)
        if self.is_lost(error):
            return UnknownOutcome(text)
        meaning = self._meaning(error)
        if meaning in (DefiniteAbort, ForeignWrite, DataError):
            return meaning(text)
        return UnknownOutcome(text, self.failure(error))

    def _meaning(self, error: Exception) -> type[Exception]:
        """The outcome for an error code of the driver."""
        raise NotImplementedError


def not_kept(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Warnings about settings of a connection that did not stick."""
    return [
        f"{name} is {value}, not {needed}: {POOLED}"
        for name, needed in wanted.items()
        if (value := found.get(name, UNKNOWN)) != needed
    ]


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
