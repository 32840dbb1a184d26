"""MariaDB, MySQL and Galera through PyMySQL.

Apart from the others because it stores some values less exactly than given, and
compares names by a collation.
"""

from __future__ import annotations

import importlib
import logging
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace
from sqlalchemy import URL, Engine

from gantt import errors
from gantt.model.changes import Change
from gantt.model.rows import InventoryRow, Row
from gantt.store.database.bulk import JoinedBulks
from gantt.store.database.dialect import (
    CONNECT_S,
    MAKE_IT,
    POOLED,
    PROBE_S,
    PROBES,
    READ_ONLY,
    UNKNOWN,
    Database,
    not_kept,
)
from gantt.store.outcomes import DataError, DefiniteAbort, ForeignWrite

LOG = logging.getLogger(__name__)
_SECOND = 1_000_000
_FLOAT = struct.Struct("<f")
Weight = tuple[int, str]
# Ideographs and syllables between these differ from all others in every collation.
_LIMITS = (0x3400, 0xF900)
_UNIT = 4  # hexadecimal digits of one weight
_OWN = 0xF0000  # weights that no ASCII character has; private characters stand for them
_DIGIT = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(16))


def _kept(row: Row | None) -> Row | None:
    """The row as it will be read back: DATETIME has whole seconds, FLOAT six digits."""
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
    """What a FLOAT column returns: single precision, printed in six digits."""
    try:
        (single,) = _FLOAT.unpack(_FLOAT.pack(number))
    except OverflowError:  # the database will refuse it
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
    session_id = "SELECT connection_id()"
    bulks = JoinedBulks
    # Not every server knows all of them; asked like this, none fails.
    read_back = (
        "SHOW SESSION VARIABLES WHERE variable_name IN ("
        "'innodb_flush_log_at_trx_commit', 'tx_isolation', 'transaction_isolation', "
        "'innodb_lock_wait_timeout', 'idle_transaction_timeout', 'sql_mode', "
        "'character_set_database', 'wsrep_on', 'wsrep_sync_wait')"
    )

    # lock timeout, deadlock, record changed (Galera), not yet in the cluster
    _ABORTS = frozenset({1205, 1213, 1020, 1047, 3572})
    # shutdown, aborted, killed, and MySQL's idle for too long: the server disconnects
    _ENDS = frozenset({1053, 1152, 1927, 4031})
    _FOREIGN = frozenset({1062, 1451, 1452})
    _DATA = frozenset({1048, 1264, 1265, 1292, 1366, 1406, 1690, 1153})

    _FULL = "its disk is full: make room; no write is half done."
    _ADVICE: ClassVar[dict[int, str]] = {
        1021: _FULL,
        1114: _FULL,
        1290: READ_ONLY,
        1792: READ_ONLY,
        1836: READ_ONLY,
        1049: MAKE_IT,
        1040: "raise its max_connections, or lower max_pool_size and workers.",
    }

    # Defaults of most servers; ``learn`` asks this one.
    _charset = "utf8mb4"
    _fold: Callable[[str], str] = staticmethod(str.casefold)

    def _make_engine(self, url: URL, **more: Any) -> Engine:
        # By default the driver waits without limit once TCP is connected.
        given = {
            "connect_timeout": CONNECT_S,
            "read_timeout": self.lost_s,
            "write_timeout": self.lost_s,
        }
        mine = {name: value for name, value in given.items() if name not in url.query}
        return super()._make_engine(url, connect_args=mine, **more)

    def _prepare(self, connection: Any, record: object) -> None:
        self._enable_probes(connection._sock)
        super()._prepare(connection, record)

    def _enable_probes(self, peer: socket.socket) -> None:
        """Probe the peer: by default the system detects a machine that vanished only
        after two hours."""
        if peer.family == socket.AF_UNIX:
            return
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (  # not on every system
            ("TCP_KEEPIDLE", self.silence_s),
            ("TCP_KEEPINTVL", PROBE_S),
            ("TCP_KEEPCNT", PROBES),
            ("TCP_USER_TIMEOUT", 1000 * self.lost_s),
        ):
            if hasattr(socket, name):
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def bound(self, connection: Any, silence_s: float | None) -> None:
        if connection is not None:  # the pool may get back a closed one
            # The driver reads them before each statement and offers no other way.
            connection._read_timeout = connection._write_timeout = silence_s

    def is_silence(self, error: Exception) -> bool:
        # The driver's error is raised while it handles that of the socket.
        return isinstance(error.__context__, TimeoutError) and self.is_lost(error)

    def _prepare_more(self, cursor: Any) -> None:
        # The first is MariaDB's, the second Galera's; ``warnings`` checks the effect.
        for setting in (
            f"idle_transaction_timeout = {self.silence_s}",
            "wsrep_sync_wait = 1",
        ):
            try:
                cursor.execute(f"SET SESSION {setting}")
            except self.engine.dialect.loaded_dbapi.Error as error:
                LOG.debug("%s: %s", self.url, error)

    @property
    def _wait_s(self) -> int:
        return max(1, int(self.options.lock_timeout_s))

    def settings(self) -> tuple[str, ...]:
        # The first resource class has the id 0, which must not mean "generate one".
        return (
            "SET SESSION sql_mode = 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO'",
            "SET SESSION time_zone = '+00:00'",
            f"SET SESSION innodb_lock_wait_timeout = {self._wait_s}",
        )

    def set_autocommit(self, connection: Any) -> None:
        self.bound(connection, self.lost_s)
        connection.autocommit(True)

    def fold(self, name: str) -> str:
        return self._fold(name)

    def learn(self, ask: Callable[[str], list[Any]]) -> None:
        names = column_query("resource_providers", "name")
        self._charset, name = ask(names)[0]
        exact = name.endswith("_bin")
        weights = () if exact else ask(weights_query(self._charset, name))
        self._fold = folding(name, weights)

    def as_kept(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return tuple(
            change if (new := _kept(change.new)) is change.new else _with(change, new)
            for change in changes
        )

    def warnings(self, found: Mapping[str, str]) -> list[str]:
        self._require_strictness(found.get("sql_mode", UNKNOWN))
        warnings = []
        value = found.get("innodb_flush_log_at_trx_commit", UNKNOWN)
        if value != "1":
            warnings.append(
                f"innodb_flush_log_at_trx_commit is {value}: a crash can lose answered "
                "writes"
            )
        warnings += not_kept(found, {"innodb_lock_wait_timeout": str(self._wait_s)})
        # MariaDB uses the first name, newer releases and MySQL the second.
        level = "tx_isolation" if "tx_isolation" in found else "transaction_isolation"
        warnings += not_kept(found, {level: "READ-COMMITTED"})
        idle = found.get("idle_transaction_timeout", UNKNOWN)  # unknown to MySQL
        if idle != str(self.silence_s):
            warnings.append(
                f"idle_transaction_timeout is {idle}: a writer that stops keeps the "
                f"lock until its connection ends; {POOLED}"
            )
        charset = found.get("character_set_database", UNKNOWN)
        if not charset.startswith("utf8"):
            warnings.append(
                f"the character set is {charset}: names with other letters are refused"
            )
        waits = found.get("wsrep_sync_wait", UNKNOWN)
        if found.get("wsrep_on") == "ON" and not (waits.isdigit() and int(waits) & 1):
            warnings.append(
                f"wsrep_sync_wait is {waits} on a node of a Galera cluster: reads do "
                "not see what other nodes have acknowledged"
            )
        return warnings

    def _require_strictness(self, mode: str) -> None:
        """Otherwise names could be truncated, and VCPU get another id than 0."""
        modes = set(mode.split(","))
        is_strict = bool(modes & {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"})
        if is_strict and "NO_AUTO_VALUE_ON_ZERO" in modes:
            return
        raise errors.StoreFailed(
            f"The database {self.url} did not keep the sql_mode that was set (it is "
            f"'{mode}'), so that values could be changed as they are written: a "
            "pooler in between must keep one session for each connection."
        )

    def advice(self, error: BaseException) -> str | None:
        if "No space left on device" in str(error):  # while it writes a temporary file
            return self._FULL
        return self._ADVICE.get(error.args[0] if error.args else 0)

    def is_lost(self, error: Exception) -> bool:
        code = error.args[0] if error.args else 0
        return code in self._ENDS or super().is_lost(error)

    def stream(self, connection: Any) -> Any:
        # The plain cursor of this driver reads all rows before it returns one.
        return connection.cursor(importlib.import_module("pymysql.cursors").SSCursor)

    def abandon(self, cursor: Any) -> None:
        # When garbage collected it would read the rest, and warn on stderr if the
        # server is gone.
        if cursor._result is not None:
            cursor._result.unbuffered_active = False

    def _meaning(self, error: Exception) -> type[Exception]:
        code = error.args[0] if error.args else 0
        if code in self._ABORTS:
            return DefiniteAbort
        if code in self._FOREIGN:
            return ForeignWrite
        return DataError if code in self._DATA else errors.StoreFailed


def column_query(table: str, column: str) -> str:
    """Selects the character set and the collation of a column."""
    return (
        "SELECT character_set_name, collation_name FROM information_schema.columns "  # noqa: S608 - our constants
        f"WHERE table_schema = database() AND table_name = '{table}' "
        f"AND column_name = '{column}'"
    )


def weights_query(charset: str, collation: str) -> str:
    """Selects (code point, weight in hexadecimal) of characters that may be equal."""
    low, high = _LIMITS
    return (
        f"SELECT n, hex(weight_string(convert(char(n USING utf32) USING {charset}) "  # noqa: S608 - names from the server
        f"COLLATE {collation})) FROM (SELECT a.d * 4096 + b.d * 256 + c.d * 16 + e.d "
        f"AS n FROM ({_DIGIT}) a, ({_DIGIT}) b, ({_DIGIT}) c, ({_DIGIT}) e) AS points "
        f"WHERE n < {low} OR n >= {high}"
    )


def folding(collation: str, weights: Iterable[Weight]) -> Callable[[str], str]:
    """Maps a name to what ``collation`` compares: equal weights are equal. Rules
    compare names without asking the database, so the weights are fetched once, when the
    store is opened."""
    table = _table(weights)
    # Standard SQL compares as if the shorter name were padded with blanks.
    is_padded = "nopad" not in collation and "0900" not in collation

    def fold(name: str) -> str:
        return (name.rstrip(" ") if is_padded else name).translate(table)

    return fold


def _table(weights: Iterable[Weight]) -> dict[int, str]:
    """Maps each character to the first with its weight; ASCII stays ASCII, for which
    ``str.translate`` is fast."""
    found = sorted((int(point), weight) for point, weight in weights)
    stands_for: dict[str, str] = {}
    for point, weight in found:
        if point < 0x80 and len(weight) <= _UNIT:
            stands_for.setdefault(weight, chr(point))
    return {
        point: "".join(_letter(unit, stands_for) for unit in _units(weight))
        for point, weight in found
    }


def _units(weight: str) -> list[str]:
    """A character can weigh as much as several do: ``ß`` as two of ``s``."""
    if len(weight) % _UNIT:
        return [weight]
    return [weight[at : at + _UNIT] for at in range(0, len(weight), _UNIT)]


def _letter(unit: str, stands_for: dict[str, str]) -> str:
    if unit not in stands_for:
        stands_for[unit] = chr(_OWN + len(stands_for))
    return stands_for[unit]
