"""What every database is asked, and what its answers mean to the store.

Apart from the dialects, so that the rest of the store sees one type: how to connect,
take the head lock, read one snapshot, tell the time, and what an error means.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    exc,
    insert,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.expression import ClauseElement

from gantt import errors
from gantt.model.changes import Change
from gantt.store import times
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
    "make it with CREATE DATABASE on the server, or correct its name in the URL; "
    "`gantt-manage db sync` makes the tables only."
)

# How often, and how many times, TCP asks a silent peer before it is given up.
PROBE_S, PROBES = 2, 3
CONNECT_S = 10

UNKNOWN = "unknown"  # to this server, or not to be seen


class Statement(Struct, frozen=True):
    """SQL text, and how to order named values into its parameters."""

    text: str
    names: tuple[str, ...]

    def picker(self, given: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
        """Maps values in the order of ``given`` to the parameters."""
        places = [given.index(name) for name in self.names]
        if len(places) == 1:
            place = places[0]
            return lambda values: (values[place],)
        return itemgetter(*places)


class Database:
    """One database by its URL; subclasses say what is particular to a dialect."""

    # Statements that open a writing transaction, before the row lock.
    begin: ClassVar[tuple[str, ...]] = ()
    # Statements before a write that may be lost when the machine or the server fails.
    begin_lightly: ClassVar[tuple[str, ...]] = ()
    # Whether the head row is locked by reading it; else ``begin`` keeps others away.
    has_row_lock: ClassVar[bool] = True
    # Statements that keep other migrations away until the transaction ends.
    migrate: ClassVar[tuple[str, ...]] = ()
    # Statements that open a transaction which reads one snapshot.
    snapshot: ClassVar[tuple[str, ...]] = ()
    # The clock in whole microseconds; None: use the clock of the process.
    clock: ClassVar[str | None] = None
    # A cheap number that moves whenever another connection has committed.
    hint: ClassVar[str | None] = None
    # The session of the server that serves a connection; None: there is no server.
    session_id: ClassVar[str | None] = None
    # Moves the sequence of a table (%s: name) past an id (%s) that was given.
    advance: ClassVar[str | None] = None

    # Settings by name and value: those that ``settings`` set, as they are now, and
    # those of the server that matter.
    read_back: ClassVar[str] = ""

    # How statements for many rows are made.
    bulks: ClassVar[type[Bulks]] = Bulks

    to_time: Callable[[int | None], Any] = staticmethod(times.to_datetime)

    def __init__(self, url: URL, options: StoreOptions) -> None:
        self.url = shown(url.set(drivername=url.get_backend_name()))
        self.options = options
        self.engine = self._make_engine(url)
        self.bulk = self.bulks(self.engine.dialect)
        # Whether new connections are looked at as ``check_settings`` does.
        self.is_in_use = False
        self._told: set[str] = set()
        event.listen(self.engine, "connect", self._prepare)
        # While the pool tests a connection, none waits for long; a session that has
        # it may load all tables, or migrate. ``set_autocommit`` is for small reads.
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
            # Writer and reader keep theirs: checkouts are rare, and must be alive.
            pool_pre_ping=True,
            **more,
        )

    def _prepare(self, connection: DBAPIConnection, _record: object) -> None:
        """Set what every connection needs. Raises StoreFailed where it must stick and
        does not."""
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
        """What is not the same on every server of a kind."""

    def check_settings(self, rows: Iterable[Any]) -> None:
        """Tell the operator, once, what of the answer to ``read_back`` makes commits
        less durable or did not stick. Raises StoreFailed for what would make answers
        wrong."""
        for warning in self.warnings({str(name): str(value) for name, value in rows}):
            self.warn(warning)

    @property
    def silence_s(self) -> int:
        """After so long TCP asks a silent peer whether it is there."""
        return max(1, int(self.options.idle_timeout_s))

    @property
    def lost_s(self) -> int:
        """After so long it is taken not to be."""
        return self.silence_s + PROBE_S * PROBES

    def bound(self, connection: Any, silence_s: float | None) -> None:
        """From now on statements of a driver's connection wait so long for an answer;
        None: for ever. A database without a server always answers."""

    def is_silence(self, error: Exception) -> bool:
        """Whether it is that nothing was said for so long."""
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
        """Close all connections of the pool."""
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
        """What the driver raises, and what its conversion of values does."""
        driver = self.engine.dialect.loaded_dbapi
        return (driver.Error, OverflowError, UnicodeError)

    def set_autocommit(self, connection: Any) -> None:
        """Make a driver's connection commit each statement by itself, and wait for none
        of them longer than a small read may take."""
        self.bound(connection, self.lost_s)
        connection.autocommit = True

    def pipeline(self, connection: Any) -> Pipeline | None:
        """What has many statements go out in one piece, if the driver can do so."""
        del connection
        return None

    def stream(self, connection: Any) -> Any:
        """A cursor that gives the first rows before it has the last."""
        return connection.cursor()

    def abandon(self, cursor: Any) -> None:
        """What such a cursor has not given is not wanted; its connection is closed
        next."""

    def pour(
        self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]
    ) -> None:
        """Insert many rows, in the order of the columns of ``table``."""
        names = table.c.keys()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        connection.execute(insert(table), found)

    def fold(self, name: str) -> str:
        """What of ``name`` this database compares when it asks for uniqueness."""
        return name

    def learn(self, ask: Callable[[str], list[Any]]) -> None:
        """Find out what depends on the server; ``ask`` gives the rows of a query."""
        del ask

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes as the tables will give them back."""
        return changes

    def warnings(self, found: Mapping[str, str]) -> list[str]:
        """What to tell of settings as they were ``found``. Raises StoreFailed."""
        del found
        return []

    def refusal(self) -> str | None:
        """Why there can be no database at this URL, as far as seen from outside."""
        return None

    def check_place(self) -> None:
        """Raises StoreFailed when what is open is no longer what the URL names."""

    def failure(self, error: BaseException) -> errors.StoreFailed:
        """That this error stops all work on the database, and what to do about it."""
        advice = self.advice(error) or "is it running, and may this user use it?"
        return errors.StoreFailed(
            f"The database {self.url} failed ({one_line(error)}): {advice}"
        )

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error, where the dialect knows."""
        del error
        return None

    def warn(self, text: str) -> None:
        """Tell the operator, once."""
        if text not in self._told:
            self._told.add(text)
            LOG.warning("%s: %s", self.url, text)

    def is_lost(self, error: Exception) -> bool:
        """Whether the connection is gone with this error."""
        return bool(self.engine.dialect.is_disconnect(error, None, None))  # type: ignore[arg-type]

    def classify(self, error: Exception) -> Exception:
        """What an error of the driver means before COMMIT was sent."""
        text = one_line(error)
        if isinstance(error, (OverflowError, UnicodeError)):
            return DataError(text)
        if self.is_lost(error):
            return DefiniteAbort(f"The connection is lost: {text}")
        meaning = self._meaning(error)
        return self.failure(error) if meaning is errors.StoreFailed else meaning(text)

    def classify_commit(self, error: Exception) -> Exception:
        """What an error during COMMIT means."""
        text = one_line(error)
        if self.is_lost(error):
            return UnknownOutcome(text)
        meaning = self._meaning(error)
        if meaning in (DefiniteAbort, ForeignWrite, DataError):
            return meaning(text)
        return UnknownOutcome(text, self.failure(error))

    def _meaning(self, error: Exception) -> type[Exception]:
        """The outcome that the error code of the driver stands for."""
        raise NotImplementedError


def not_kept(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """What to tell of settings of a connection that are not as they were set."""
    return [
        f"{name} is {value}, not {wish}: {POOLED}"
        for name, wish in wanted.items()
        if (value := found.get(name, UNKNOWN)) != wish
    ]


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
