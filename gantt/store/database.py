"""Every difference between SQLite, PostgreSQL and MariaDB, and nothing else.

It stands apart so that no other module asks which database it talks to: how to connect,
take the head lock, read one snapshot, tell the time, and what an error means.
"""

from __future__ import annotations

import logging
import sqlite3
import unicodedata
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from sqlalchemy import URL, Engine, create_engine, event, exc, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.expression import ClauseElement

from gantt import errors
from gantt.store import times
from gantt.store.contract import StoreOptions
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite, UnknownOutcome

LOG = logging.getLogger(__name__)

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "mariadb+pymysql": "mysql+pymysql",
}
_EXTRAS = {"postgresql": "postgresql", "mysql": "mysql"}


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

    def repeated(self, count: int) -> str:
        """The text of an INSERT of one row, made one of ``count`` rows."""
        start, keyword, group = self.text.partition(" VALUES ")
        assert keyword, f"not an INSERT of values: {self.text}"
        return start + keyword + ", ".join([group] * count)


class Database:
    """One database by its URL; subclasses say what is particular to a dialect."""

    # Statements that open a writing transaction, before the row lock.
    begin: ClassVar[tuple[str, ...]] = ()
    # Whether the head row must be locked; else ``begin`` excludes other writers.
    has_row_lock: ClassVar[bool] = True
    # Statements that keep other migrations away until the transaction ends.
    migrate: ClassVar[tuple[str, ...]] = ()
    # Statements that open a transaction which reads one snapshot.
    snapshot: ClassVar[tuple[str, ...]] = ()
    # The clock in whole microseconds; None: use the clock of the process.
    clock: ClassVar[str | None] = None
    # A cheap number that moves whenever another connection has committed.
    hint: ClassVar[str | None] = None
    # Moves the sequence of a table (%s: name) past an id (%s) that was given.
    advance: ClassVar[str | None] = None

    to_time: Callable[[int | None], Any] = staticmethod(times.to_datetime)

    def __init__(self, url: URL, options: StoreOptions) -> None:
        shown = url.set(drivername=url.get_backend_name())
        self.url = shown.render_as_string(hide_password=True)
        self.options = options
        self.engine = self._make_engine(url)
        event.listen(self.engine, "connect", self._prepare)

    def _make_engine(self, url: URL) -> Engine:
        # Positional parameters: rows go to the driver as tuples, unconverted.
        return create_engine(
            url,
            paramstyle="format",
            isolation_level="READ COMMITTED",
            pool_size=self.options.pool_size,
            pool_recycle=3600,
            # Writer and reader keep theirs: checkouts are rare, and must be alive.
            pool_pre_ping=True,
        )

    def _prepare(self, connection: DBAPIConnection, _record: object) -> None:
        """Set what every connection needs."""
        cursor = connection.cursor()
        for statement in self.settings():
            cursor.execute(statement)
        cursor.close()
        connection.commit()

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
        """Make a driver's connection commit each statement by itself."""
        connection.autocommit = True

    def fold(self, name: str) -> str:
        """What of ``name`` this database compares when it asks for uniqueness."""
        return name

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        """Settings that make commits less durable; ``ask`` runs a query."""
        del ask
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
            f"The database {self.url} failed ({_one_line(error)}): {advice}"
        )

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error, where the dialect knows."""
        del error
        return None

    def warn(self, text: str) -> None:
        """Tell the operator, once, at start."""
        LOG.warning("%s: %s", self.url, text)

    def is_lost(self, error: Exception) -> bool:
        """Whether the connection is gone with this error."""
        return bool(self.engine.dialect.is_disconnect(error, None, None))  # type: ignore[arg-type]

    def classify(self, error: Exception) -> Exception:
        """What an error of the driver means before COMMIT was sent."""
        text = _one_line(error)
        if isinstance(error, (OverflowError, UnicodeError)):
            return DataError(text)
        if self.is_lost(error):
            return DefiniteAbort(f"The connection is lost: {text}")
        meaning = self._meaning(error)
        return self.failure(error) if meaning is errors.StoreFailed else meaning(text)

    def classify_commit(self, error: Exception) -> Exception:
        """What an error during COMMIT means."""
        text = _one_line(error)
        if self.is_lost(error):
            return UnknownOutcome(text)
        meaning = self._meaning(error)
        if meaning in (DefiniteAbort, ForeignWrite, DataError):
            return meaning(text)
        return UnknownOutcome(text, self.failure(error))

    def _meaning(self, error: Exception) -> type[Exception]:
        """The outcome that the error code of the driver stands for."""
        raise NotImplementedError


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class SqliteDatabase(Database):
    """A file, write-ahead log, one writer; the lock is BEGIN IMMEDIATE."""

    begin = ("BEGIN IMMEDIATE",)
    migrate = ("BEGIN IMMEDIATE",)
    has_row_lock = False
    snapshot = ("BEGIN",)
    hint = "PRAGMA data_version"
    to_time = staticmethod(times.to_text)

    _ABORTS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
    _FOREIGN = frozenset(
        {
            sqlite3.SQLITE_CONSTRAINT_UNIQUE,
            sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
            sqlite3.SQLITE_CONSTRAINT_ROWID,
            sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
        }
    )
    _DATA = frozenset(
        {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG}
    )

    _ADVICE: ClassVar[dict[int, str]] = {
        sqlite3.SQLITE_BUSY: "another process has locked it; stop that or try again.",
        sqlite3.SQLITE_READONLY: "it is read-only: make the file and its directory "
        "writable for this user.",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened: make the file and its directory "
        "readable and writable for this user.",
        sqlite3.SQLITE_FULL: "the disk is full: make room; nothing was half written.",
        sqlite3.SQLITE_IOERR: "the disk gave an error: see the system's log.",
        sqlite3.SQLITE_NOTADB: "it is not an SQLite database: name another file.",
        sqlite3.SQLITE_CORRUPT: "it is damaged: restore it from a backup.",
    }

    def _make_engine(self, url: URL) -> Engine:
        if not url.database or url.database == ":memory:":
            raise errors.Refused(
                f"{self.url} keeps nothing: name a file (sqlite:////var/lib/gantt.db), "
                "or use memory:// for books that end with the process."
            )
        self.path, self._uri = _sqlite_uri(url)
        # Which file the first connection has opened.
        self._opened: tuple[int, int] | None = None
        return create_engine(
            "sqlite+pysqlite:///file",
            creator=self._connect,
            pool_size=self.options.pool_size,
        )

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a mistyped path must not become a new, empty database.
        mode = "rwc" if self.options.create else "rw"
        connection = sqlite3.connect(
            self._uri.replace("mode=default", f"mode={mode}"),
            uri=True,
            timeout=self.options.lock_timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        self._opened = self._opened or self._found()
        return connection

    def check_place(self) -> None:
        # A file that was deleted can still be written to; nobody would find it again.
        if self._opened is None or self._found() == self._opened:
            return
        raise errors.StoreFailed(
            f"The database {self.url} was moved, deleted or replaced while it was in "
            "use, so that nothing can be kept: put the file back, or restart."
        )

    def _found(self) -> tuple[int, int] | None:
        """Which file the path leads to now; None: none, or it is not plain."""
        try:
            found = self.path and self.path.stat()
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    def _prepare(self, connection: DBAPIConnection, _record: object) -> None:
        cursor = connection.cursor()
        for statement in self.settings():
            cursor.execute(statement)
        cursor.execute("PRAGMA journal_mode")
        if str((cursor.fetchone() or [""])[0]).lower() != "wal":
            cursor.execute("PRAGMA journal_mode = WAL")
        cursor.close()

    def settings(self) -> tuple[str, ...]:
        return (
            "PRAGMA foreign_keys = ON",
            "PRAGMA synchronous = FULL",
            "PRAGMA cache_size = -16384",
            # Random uuids touch many pages; a longer log writes each back less often.
            "PRAGMA wal_autocheckpoint = 4000",
        )

    def set_autocommit(self, connection: Any) -> None:
        del connection  # it is, from the start

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        mode = str(ask("PRAGMA journal_mode"))
        if mode.lower() == "wal":
            return []
        return [f"journal_mode is {mode}, not wal: readers and the writer will wait"]

    def refusal(self) -> str | None:
        if self.path is None or self.path.is_file():
            return None
        folder = self.path.absolute().parent
        if self.path.exists():
            return f"{self.path} is not a file: name the file of an SQLite database."
        if not folder.is_dir():
            return (
                f"The directory {folder} does not exist: create it, or name a "
                "database in another one."
            )
        if self.options.create:
            return None
        return f"There is no database at {self.path}: run `gantt-manage db sync`."

    def advice(self, error: BaseException) -> str | None:
        code = getattr(error, "sqlite_errorcode", None)
        return None if code is None else self._ADVICE.get(code & 0xFF)

    def is_lost(self, error: Exception) -> bool:
        del error  # a file has no connection that could break
        return False

    def _meaning(self, error: Exception) -> type[Exception]:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # the module's own: a value of a type it cannot bind
            is_value = isinstance(error, sqlite3.InterfaceError | sqlite3.DataError)
            return DataError if is_value else errors.StoreFailed
        if code in self._FOREIGN:
            return ForeignWrite
        if code & 0xFF in self._ABORTS:
            return DefiniteAbort
        return DataError if code & 0xFF in self._DATA else errors.StoreFailed


def _sqlite_uri(url: URL) -> tuple[Path | None, str]:
    """The file of an SQLite URL, if it is plain, and the URI to open it with."""
    query = {name: value for name, value in url.query.items() if name != "uri"}
    name = url.database or ""
    if name.startswith("file:"):
        query.setdefault("mode", "default")
        return None, f"{name}?{urlencode(query, doseq=True)}"
    return Path(name), f"file:{quote(name)}?mode=default"


class PostgresDatabase(Database):
    """READ COMMITTED, a row lock on the head, sequences that must be told of ids."""

    migrate = ("SELECT pg_advisory_xact_lock(7163980911)",)
    snapshot = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    )
    clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    # nextval first: never back to an id that another writer has taken.
    advance = (
        "SELECT setval(s, greatest(nextval(s), %s)) "
        "FROM (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS s) AS t"
    )

    # serialization failure, deadlock, lock not available, cancelled
    _ABORTS = frozenset({"40001", "40P01", "55P03", "57014"})
    # idle too long within a transaction, shutdowns: the server hangs up
    _ENDS = frozenset({"25P03", "57P01", "57P02", "57P03"})
    _FOREIGN = frozenset({"23505", "23503"})

    def settings(self) -> tuple[str, ...]:
        lock_ms = int(self.options.lock_timeout_s * 1000)
        idle_ms = int(self.options.idle_timeout_s * 1000)
        return (
            "SET TIME ZONE 'UTC'",
            f"SET lock_timeout = {lock_ms}",
            f"SET idle_in_transaction_session_timeout = {idle_ms}",
        )

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        value = str(ask("SHOW synchronous_commit"))
        if value in ("on", "remote_apply"):
            return []
        return [f"synchronous_commit is {value}: a crash can lose answered writes"]

    def is_lost(self, error: Exception) -> bool:
        # The driver has nothing to say of the state of a server that it lost.
        state = getattr(error, "sqlstate", None)
        driver = self.engine.dialect.loaded_dbapi
        if state is None:
            return isinstance(error, driver.OperationalError | driver.InterfaceError)
        return state.startswith("08") or state in self._ENDS

    def _meaning(self, error: Exception) -> type[Exception]:
        state = getattr(error, "sqlstate", None) or ""
        if state in self._ABORTS:
            return DefiniteAbort
        if state in self._FOREIGN:
            return ForeignWrite
        is_value = state.startswith(("22", "23")) or not state
        return DataError if is_value else errors.StoreFailed


class MysqlDatabase(Database):
    """READ COMMITTED, a row lock on the head, names compared by the collation."""

    migrate = ("SELECT get_lock('gantt_migrate', 60)",)
    snapshot = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )
    # Whole seconds: DATETIME keeps no fraction, and rows must read back as written.
    clock = "SELECT unix_timestamp() * 1000000"

    # lock timeout, deadlock, record changed (Galera), not yet in the cluster
    _ABORTS = frozenset({1205, 1213, 1020, 1047, 3572})
    _FOREIGN = frozenset({1062, 1451, 1452})
    _DATA = frozenset({1048, 1264, 1265, 1292, 1366, 1406, 1690, 1153})

    def _prepare(self, connection: DBAPIConnection, record: object) -> None:
        super()._prepare(connection, record)
        cursor = connection.cursor()
        idle_s = max(1, int(self.options.idle_timeout_s))
        # Not every server knows these: the first is MariaDB's, the second Galera's.
        for setting in (f"idle_transaction_timeout = {idle_s}", "wsrep_sync_wait = 1"):
            try:
                cursor.execute(f"SET SESSION {setting}")
            except self.engine.dialect.loaded_dbapi.Error as error:
                LOG.debug("%s: %s", self.url, error)
        cursor.close()

    def settings(self) -> tuple[str, ...]:
        # The first resource class bears the id 0, which is not "give me one".
        wait_s = max(1, int(self.options.lock_timeout_s))
        return (
            "SET SESSION sql_mode = 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO'",
            "SET SESSION time_zone = '+00:00'",
            f"SET SESSION innodb_lock_wait_timeout = {wait_s}",
        )

    def set_autocommit(self, connection: Any) -> None:
        connection.autocommit(True)

    def fold(self, name: str) -> str:
        """Case, accents and trailing blanks do not tell names apart."""
        parts = unicodedata.normalize("NFKD", name.rstrip(" ").casefold())
        return "".join(part for part in parts if not unicodedata.combining(part))

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        value = str(ask("SELECT @@innodb_flush_log_at_trx_commit"))
        if value == "1":
            return []
        return [
            f"innodb_flush_log_at_trx_commit is {value}: a crash can lose answered "
            "writes"
        ]

    def _meaning(self, error: Exception) -> type[Exception]:
        code = error.args[0] if error.args else 0
        if code in self._ABORTS:
            return DefiniteAbort
        if code in self._FOREIGN:
            return ForeignWrite
        return DataError if code in self._DATA else errors.StoreFailed


_DIALECTS: dict[str, type[Database]] = {
    "sqlite": SqliteDatabase,
    "postgresql": PostgresDatabase,
    "mysql": MysqlDatabase,
}


def open_database(url: str, options: StoreOptions) -> Database:
    """The database at ``url``; nothing is connected yet. Raises Refused."""
    parsed = _understood(url)
    dialect = parsed.get_backend_name()
    if dialect == "memory":
        raise errors.Refused(
            "memory:// keeps no tables: name a database, for example "
            "sqlite:////var/lib/gantt/gantt.db."
        )
    if dialect not in _DIALECTS:
        raise errors.Refused(
            f"{parsed.render_as_string()} is not a database that Gantt knows: use "
            "sqlite:///, postgresql+psycopg://, mysql+pymysql:// or memory://."
        )
    try:
        return _DIALECTS[dialect](parsed, options)
    except ImportError as error:
        extra = _EXTRAS.get(dialect, dialect)
        raise errors.Refused(
            f"The driver of {parsed.drivername} is not installed ({error}): install "
            f"gantt-scheduler[{extra}]."
        ) from error


def _understood(url: str) -> URL:
    """The URL with the driver that Gantt uses in place of others of old files."""
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, TypeError, ValueError) as error:
        raise errors.Refused(
            "The database URL cannot be read: expected "
            "dialect+driver://user:password@host/name or sqlite:////path/to/file."
        ) from error
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        return parsed
    if driver != parsed.drivername and parsed.drivername != "sqlite":
        LOG.warning("The URL says %s; Gantt uses %s for it.", parsed.drivername, driver)
    return parsed.set(drivername=driver)
