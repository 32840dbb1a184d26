"""The errors of each database's driver.

Separate from ``sql``, which decides when to raise them: these are the drivers' own
errors, so that the store's handling of them is tested too.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from gantt.store.database import Database
from tests.simulation.fault_schedule import (
    ABORT,
    ABORT_COMMIT,
    CUT,
    DROPPED,
    FULL,
    KEPT,
)

_SQLITE = {
    ABORT: sqlite3.SQLITE_BUSY,
    ABORT_COMMIT: sqlite3.SQLITE_BUSY,
    FULL: sqlite3.SQLITE_FULL,
    CUT: sqlite3.SQLITE_IOERR,
    KEPT: sqlite3.SQLITE_IOERR,
    DROPPED: sqlite3.SQLITE_IOERR,
}
_POSTGRESQL = {
    ABORT: "DeadlockDetected",
    ABORT_COMMIT: "SerializationFailure",
    FULL: "DiskFull",
}
_MYSQL = {ABORT: 1213, ABORT_COMMIT: 1213, FULL: 1021}
_MYSQL_GONE = 2013


class Driver:
    """The errors of one database's driver."""

    def __init__(self, database: Database) -> None:
        self.dialect = database.engine.dialect.name
        self.module: Any = database.engine.dialect.loaded_dbapi

    @property
    def hangs_up(self) -> bool:
        """Whether there is a server that can close a connection."""
        return self.dialect != "sqlite"

    def hang_up(self, connection: Any) -> None:
        """Close a connection as its server would; the pool will close it again."""
        if self.dialect == "mysql":
            if connection._result is not None:  # do not wait for the rest of its result
                connection._result.unbuffered_active = False
            connection._force_close()
        else:
            connection.close()

    def error(self, kind: str) -> Exception:
        """The driver's error for a fault."""
        text = f"simulated: {kind}"
        if self.dialect == "sqlite":
            fault = sqlite3.OperationalError(text)
            fault.sqlite_errorcode = _SQLITE[kind]
            return fault
        error: Exception
        if self.dialect == "mysql":
            error = self.module.OperationalError(_MYSQL.get(kind, _MYSQL_GONE), text)
        elif kind in _POSTGRESQL:
            error = getattr(self.module.errors, _POSTGRESQL[kind])(text)
        else:
            error = self.module.OperationalError(text)
        return error

    def is_locked(self, error: Exception) -> bool:
        """Whether another transaction has the head lock."""
        if self.dialect == "sqlite":
            code = getattr(error, "sqlite_errorcode", 0) or 0
            return code & 0xFF == sqlite3.SQLITE_BUSY
        if self.dialect == "mysql":
            return bool(error.args) and error.args[0] == 1205
        return getattr(error, "sqlstate", None) == "55P03"
