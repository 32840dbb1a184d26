"""SQLite: a file of this machine, one writer at a time.

Apart from the servers, because most of it is about files: where they are, and whether
they are still there.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode

from sqlalchemy import URL, Engine, create_engine

from gantt import errors
from gantt.store import time_columns
from gantt.store.database.dialect import UNKNOWN, Database, not_kept
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite

_PRIVATE: Final = 0o600


class SqliteDatabase(Database):
    """A file, write-ahead log, one writer; the lock is BEGIN IMMEDIATE."""

    own_place = "a file of its own"
    begin = ("BEGIN IMMEDIATE",)
    # The next synced commit includes it. Each statement is a transaction: nothing is
    # locked while this thread waits for the interpreter.
    begin_lightly = ("PRAGMA synchronous = NORMAL",)
    migrate = ("BEGIN IMMEDIATE",)
    has_row_lock = False
    snapshot = ("BEGIN",)
    hint = "PRAGMA data_version"
    no_wait = "PRAGMA busy_timeout = 0"
    to_time = staticmethod(time_columns.to_text)
    read_back = " UNION ALL ".join(
        f"SELECT '{name}', {column} FROM pragma_{name}"  # noqa: S608 - ours
        for name, column in (
            ("journal_mode", "journal_mode"),
            ("synchronous", "synchronous"),
            ("foreign_keys", "foreign_keys"),
            ("busy_timeout", "timeout"),
        )
    )

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
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened: name a file that exists, and "
        "make it and its directory readable and writable for this user.",
        sqlite3.SQLITE_FULL: "the disk is full: make room; no write is half done.",
        sqlite3.SQLITE_IOERR: "the disk reported an error: see the system's log.",
        sqlite3.SQLITE_NOTADB: "it is not an SQLite database: name another file.",
        sqlite3.SQLITE_CORRUPT: "it is damaged: restore it from a backup.",
    }

    def _make_engine(self, url: URL, **more: Any) -> Engine:
        if not url.database or url.database == ":memory:":
            raise errors.Refused(
                f"{self.url} would not be stored: name a file "
                "(sqlite:////var/lib/gantt.db), or use memory:// for books that end "
                "with the process."
            )
        self.path, self._uri = _sqlite_uri(url)
        self._file = str(self.path or "")
        # The file that the first connection opened.
        self._opened: tuple[int, int] | None = None
        return create_engine(
            "sqlite+pysqlite:///file",
            creator=self._connect,
            pool_size=self.options.pool_size,
            **more,
        )

    def _connect(self) -> sqlite3.Connection:
        if self.options.create:
            self._make_private()
        # mode=rw: a mistyped path must not become a new, empty database.
        mode = "rwc" if self.options.create else "rw"
        connection = self._open(mode, self.options.lock_timeout_s)
        self._opened = self._opened or self._found()
        return connection

    def _open(self, mode: str, timeout_s: float) -> sqlite3.Connection:
        return sqlite3.connect(
            self._uri.replace("mode=default", f"mode={mode}"),
            uri=True,
            timeout=timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )

    def _make_private(self) -> None:
        """A new file is this user's alone; SQLite gives those beside it the same
        rights."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with suppress(OSError):  # it is there already, or SQLite says why not
            os.close(os.open(self._file, flags, _PRIVATE))

    def check_place(self) -> None:
        # A deleted file can still be written to, but no other process would find it.
        if self._opened is None or self._found() == self._opened:
            return
        raise errors.StoreFailed(
            f"The database {self.url} was moved, deleted or replaced while it was in "
            "use, so that nothing can be stored: put the file back, or restart."
        )

    def check_writable(self) -> None:
        """Ask for the lock of the one writer, as a program that has just come, and give
        it back: nothing is written, and a process that holds it can write. The rights
        are looked at as well: SQLite may use again what it opened before."""
        if not self._file:
            return
        if not os.access(self._file, os.W_OK):
            raise self._takes_no_writes(sqlite3.SQLITE_READONLY)
        try:
            with closing(self._open("rw", 0)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            if code & 0xFF not in self._ABORTS:
                raise self._takes_no_writes(code & 0xFF, f" ({error})") from error

    def _takes_no_writes(self, code: int, said: str = "") -> errors.StoreFailed:
        advice = self._ADVICE.get(code, "see the system's log.")
        return errors.StoreFailed(
            f"The database {self.url} takes no writes{said}: {advice}"
        )

    def _found(self) -> tuple[int, int] | None:
        """Device and inode of the path now; None: no file, or not a plain path."""
        try:
            found = os.stat(self._file)  # noqa: PTH116 - at every batch: a Path takes calls
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _prepare_more(self, cursor: Any) -> None:
        cursor.execute("PRAGMA journal_mode")
        if str((cursor.fetchone() or [""])[0]).lower() != "wal":
            cursor.execute("PRAGMA journal_mode = WAL")

    def settings(self) -> tuple[str, ...]:
        return (
            "PRAGMA foreign_keys = ON",
            "PRAGMA synchronous = FULL",
            "PRAGMA cache_size = -16384",
            # Random uuids touch many pages; a longer log writes each back less often.
            "PRAGMA wal_autocheckpoint = 4000",
        )

    def set_autocommit(self, connection: Any) -> None:
        del connection  # always on

    def warnings(self, found: Mapping[str, str]) -> list[str]:
        warnings = []
        if (mode := found.get("journal_mode", UNKNOWN)).lower() != "wal":
            warnings.append(
                f"journal_mode is {mode}, not wal: readers and the writer will wait"
            )
        if (value := found.get("synchronous", UNKNOWN)) not in ("2", "3"):
            warnings.append(f"synchronous is {value}: a crash can lose answered writes")
        if (value := found.get("foreign_keys", UNKNOWN)) != "1":
            warnings.append(
                f"foreign_keys is {value}: rows can be left behind by another writer"
            )
        if self._is_readable_by_all():
            warnings.append(
                "every user of this machine can read it: chmod o-rwx "
                f"{self._file}, and the files beside it"
            )
        wait_ms = str(int(self.options.lock_timeout_s * 1000))
        return warnings + not_kept(found, {"busy_timeout": wait_ms})

    def _is_readable_by_all(self) -> bool:
        try:
            return bool(Path(self._file).stat().st_mode & stat.S_IROTH)
        except OSError:
            return False

    def refusal(self) -> str | None:
        if self.path is None or self.path.is_file():
            return None
        path, folder = self.path.absolute(), self.path.absolute().parent
        if self.path.exists():
            return f"{path} is not a file: name the file of an SQLite database."
        if not folder.is_dir():
            return (
                f"The directory {folder} does not exist: create it, or name a "
                f"database in another one.{self._four_slashes()}"
            )
        if self.options.create:
            return None
        run = self.command("db sync")
        return (
            f"There is no database at {path}: correct the URL, or create it with "
            f"{run}.{self._four_slashes()}"
        )

    def _four_slashes(self) -> str:
        """A hint, if a relative path was probably meant to be absolute."""
        path = self.path
        if path is None or path.is_absolute() or not Path("/", path).parent.is_dir():
            return ""
        if len(path.parts) == 1:
            return ""
        return f" An absolute path has four slashes: sqlite:////{path}."

    def advice(self, error: BaseException) -> str | None:
        code = getattr(error, "sqlite_errorcode", None)
        return None if code is None else self._ADVICE.get(code & 0xFF)

    def is_lost(self, error: Exception) -> bool:
        del error  # a file has no connection
        return False

    def _meaning(self, error: Exception) -> type[Exception]:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # the module's own: a type that it cannot bind
            is_value = isinstance(error, sqlite3.InterfaceError | sqlite3.DataError)
            return DataError if is_value else errors.StoreFailed
        if code in self._FOREIGN:
            return ForeignWrite
        if code & 0xFF in self._ABORTS:
            return DefiniteAbort
        return DataError if code & 0xFF in self._DATA else errors.StoreFailed


def _sqlite_uri(url: URL) -> tuple[Path | None, str]:
    """The file of an SQLite URL, if it is a plain path, and the URI to open it."""
    query = {name: value for name, value in url.query.items() if name != "uri"}
    name = url.database or ""
    if name.startswith("file:"):
        query.setdefault("mode", "default")
        return None, f"{name}?{urlencode(query, doseq=True)}"
    return Path(name), f"file:{quote(name)}?mode=default"
