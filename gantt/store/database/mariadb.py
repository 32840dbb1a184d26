"""MariaDB, MySQL and Galera through PyMySQL.

Apart from the others because it keeps some values otherwise than they were given, and
compares names by a collation.
"""

from __future__ import annotations

import importlib
import logging
import struct
from collections.abc import Callable
from typing import Any, ClassVar

from msgspec.structs import replace
from sqlalchemy.engine.interfaces import DBAPIConnection

from gantt import errors
from gantt.model.changes import Change
from gantt.model.rows import InventoryRow, Row
from gantt.store.database import collation
from gantt.store.database.bulk import JoinedBulks
from gantt.store.database.dialect import POOLED, Database
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite

LOG = logging.getLogger(__name__)
_SECOND = 1_000_000
_FLOAT = struct.Struct("<f")


def _kept(row: Row | None) -> Row | None:
    """As it will be read back: DATETIME has whole seconds, FLOAT six digits."""
    if row is None:
        return None
    created, updated = _whole(row.created_at), _whole(row.updated_at)
    if created != row.created_at or updated != row.updated_at:
        row = replace(row, created_at=created, updated_at=updated)
    if isinstance(row, InventoryRow):
        ratio = _single(row.allocation_ratio)
        if ratio != row.allocation_ratio:
            row = replace(row, allocation_ratio=ratio)
    return row


def _whole(micros: int | None) -> int | None:
    return None if micros is None else micros - micros % _SECOND


def _single(number: float) -> float:
    """What a FLOAT column gives back: single precision, told in six digits."""
    try:
        (single,) = _FLOAT.unpack(_FLOAT.pack(number))
    except OverflowError:  # the database will say so
        return number
    return float(f"{single:.6g}")


def _with(change: Change, new: Row | None) -> Change:
    return Change(change.table, change.key, change.old, new)


class MysqlDatabase(Database):
    """READ COMMITTED, a row lock on the head, names compared by the collation."""

    migrate = ("SELECT get_lock('gantt_migrate', 60)",)
    snapshot = (
        # MariaDB alone knows the second: it ends transactions that wait for a slow
        # reader. (MySQL reads no further than the comment.)
        "SET @gantt = 1 /*M!, SESSION idle_transaction_timeout = 0 */",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )
    clock = "SELECT unix_timestamp(now(6)) * 1000000"
    bulks = JoinedBulks

    # lock timeout, deadlock, record changed (Galera), not yet in the cluster
    _ABORTS = frozenset({1205, 1213, 1020, 1047, 3572})
    # shutdown, aborted, killed, and MySQL's idle for too long: the server hangs up
    _ENDS = frozenset({1053, 1152, 1927, 4031})
    _FOREIGN = frozenset({1062, 1451, 1452})
    _DATA = frozenset({1048, 1264, 1265, 1292, 1366, 1406, 1690, 1153})

    _FULL = "its disk is full: make room; nothing was half written."
    _ADVICE: ClassVar[dict[int, str]] = {
        1021: _FULL,
        1114: _FULL,
        1040: "raise its max_connections, or lower max_pool_size and workers.",
    }

    # What most servers take for a start; ``learn`` asks this one.
    _charset = "utf8mb4"
    _fold: Callable[[str], str] = staticmethod(str.casefold)

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
        return self._fold(name)

    def learn(self, ask: Callable[[str], list[Any]]) -> None:
        names = collation.column_query("resource_providers", "name")
        self._charset, name = ask(names)[0]
        exact = name.endswith("_bin")
        weights = () if exact else ask(collation.weights_query(self._charset, name))
        self._fold = collation.folding(name, weights)

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return tuple(
            change if (new := _kept(change.new)) is change.new else _with(change, new)
            for change in changes
        )

    def warnings(self, ask: Callable[[str], Any]) -> list[str]:
        found = []
        value = str(ask("SELECT @@innodb_flush_log_at_trx_commit"))
        if value != "1":
            found.append(
                f"innodb_flush_log_at_trx_commit is {value}: a crash can lose answered "
                "writes"
            )
        is_mariadb = getattr(self.engine.dialect, "is_mariadb", False)
        name = "tx_isolation" if is_mariadb else "transaction_isolation"
        level = str(ask(f"SELECT @@{name}"))
        if level != "READ-COMMITTED":
            found.append(f"{name} is {level}, not READ-COMMITTED: {POOLED}")
        idle = "unknown"  # to MySQL
        if is_mariadb:
            idle = str(ask("SELECT @@idle_transaction_timeout"))
        if idle in ("0", "unknown"):
            found.append(
                f"idle_transaction_timeout is {idle}: a writer that stands still keeps "
                f"the lock until its connection ends; {POOLED}"
            )
        charset = str(ask("SELECT @@character_set_database"))
        if not charset.startswith("utf8"):
            found.append(
                f"the character set is {charset}: names with other letters are refused"
            )
        return found

    def advice(self, error: BaseException) -> str | None:
        return self._ADVICE.get(error.args[0] if error.args else 0)

    def is_lost(self, error: Exception) -> bool:
        code = error.args[0] if error.args else 0
        return code in self._ENDS or super().is_lost(error)

    def stream(self, connection: Any) -> Any:
        # The plain cursor of this driver takes in all rows before it gives one.
        return connection.cursor(importlib.import_module("pymysql.cursors").SSCursor)

    def abandon(self, cursor: Any) -> None:
        # When it is collected it would wait for the rest, and complain on stderr where
        # the server is gone.
        if cursor._result is not None:
            cursor._result.unbuffered_active = False

    def _meaning(self, error: Exception) -> type[Exception]:
        code = error.args[0] if error.args else 0
        if code in self._ABORTS:
            return DefiniteAbort
        if code in self._FOREIGN:
            return ForeignWrite
        return DataError if code in self._DATA else errors.StoreFailed
