"""A connection to one of Nova's databases: it does not wait for long, and only reads
unless it was made to write.

What a driver says becomes one of two errors: Refused for what an operator must mend (a
missing right, a table that is not there), StoreFailed for what may pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, TypeAlias, cast

import sqlalchemy as sa
from sqlalchemy import URL, event, exc
from sqlalchemy.sql.visitors import iterate

from gantt.errors import Refused, StoreFailed
from gantt.store.database.url import shown, understood

Row: TypeAlias = "sa.Row[*tuple[Any, ...]]"
Select: TypeAlias = "sa.Select[*tuple[Any, ...]]"
Statement: TypeAlias = "Select | sa.Insert | sa.Update"
PAGE: Final = 2_000
# Values in one statement.
_AT_ONCE: Final = 500

# MySQL's numbers, and the SQLSTATE of PostgreSQL.
_NO_RIGHT: Final = frozenset({1142, 1143, 1044, "42501"})
_NO_LOGIN: Final = frozenset({1045, 1698, "28P01", "28000"})
_NO_TABLE: Final = frozenset({1146, 1054, 1049, "42P01", "42703", "3D000"})
_RIGHTS: Final = {sa.Select: "SELECT", sa.Insert: "INSERT", sa.Update: "UPDATE"}
# An UPDATE also needs to read.
_DENIED: Final = re.compile(r"([A-Z]+) command denied")
_READ_ONLY: Final = {
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}

# Times without a zone, in UTC. Nova's services and Gantt's have each a clock of their
# own, and no other one is near to those rows.
_CLOCK: Final = {
    "mysql": sa.func.utc_timestamp(6),
    "postgresql": sa.func.timezone("UTC", sa.func.clock_timestamp()),
}


class NovaDatabase:
    """``name``: as messages call it. Any thread may read, a few at a time."""

    def __init__(
        self, name: str, url: str, timeout_s: float, *, writes: bool = False
    ) -> None:
        """Nothing is connected yet. Raises Refused: the URL cannot be read."""
        self.name = name
        self._url = understood(url)
        dialect = self._url.get_backend_name()
        if dialect not in _READ_ONLY:
            raise Refused(f"{name}: Gantt cannot read a database of {dialect}.")
        try:
            self._engine = sa.create_engine(
                self._url,
                pool_size=1,
                max_overflow=3,
                pool_timeout=timeout_s,
                pool_recycle=3600,
                isolation_level="AUTOCOMMIT",
                connect_args=_limits(self._url, timeout_s),
            )
        except (ImportError, exc.NoSuchModuleError) as error:
            raise Refused(
                f"{name}: the driver of {dialect} is not installed: {error}."
            ) from error
        self._read_only = _READ_ONLY[dialect]
        if not writes:
            event.listen(self._engine, "connect", self._prepare)

    @property
    def url(self) -> str:
        """Where it is, without the password."""
        return shown(self._url)

    def now(self) -> datetime:
        """The time at the database, as Nova writes times; of a file, that of this
        machine. Raises Refused, StoreFailed."""
        clock = _CLOCK.get(self._url.get_backend_name())
        if clock is None:
            return datetime.now(UTC).replace(tzinfo=None)
        ((now,),) = self.rows(sa.select(clock))
        return cast("datetime", now)

    def rows(self, statement: Select) -> Sequence[Row]:
        """The rows of ``statement``. Raises Refused, StoreFailed."""
        with self._connected(statement) as connection:
            return connection.execute(statement).all()

    def rows_of(
        self, statement: Select, column: sa.Column[Any], these: Iterable[Any]
    ) -> Iterator[Row]:
        """The rows of ``statement`` whose ``column`` is one of ``these``, some at a
        time. Raises Refused, StoreFailed."""
        each = sorted(these)
        for start in range(0, len(each), _AT_ONCE):
            some = column.in_(each[start : start + _AT_ONCE])
            yield from self.rows(statement.where(some))

    def write(self, statement: sa.Insert | sa.Update) -> int:
        """The number of rows written; 0 also if there is such a row already. Raises
        Refused, StoreFailed."""
        with self._connected(statement) as connection:
            try:
                return connection.execute(statement).rowcount
            except exc.IntegrityError:
                return 0

    @contextmanager
    def _connected(self, statement: Statement) -> Iterator[sa.Connection]:
        """For ``statement``, whose errors are translated."""
        try:
            with self._connect() as connection:
                yield connection
        except exc.TimeoutError as error:
            raise StoreFailed(f"{self.name}: all connections are in use.") from error
        except exc.DBAPIError as error:
            raise self._translated(error, statement) from error

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except (TypeError, ValueError) as error:
            # Drivers take what follows "?" as arguments of their own.
            raise Refused(
                f"{self.name} ({self.url}): its driver cannot use this URL: {error}."
            ) from error

    def pages(
        self, statement: Select, key: sa.Column[Any], size: int = PAGE
    ) -> Iterator[Sequence[Row]]:
        """The rows of ``statement`` by ascending ``key``, its first column, a page at a
        time. Raises Refused, StoreFailed."""
        after: Any = None
        while True:
            page = statement.order_by(key).limit(size)
            rows = self.rows(page if after is None else page.where(key > after))
            if rows:
                yield rows
            if len(rows) < size:
                return
            after = rows[-1][0]

    def close(self) -> None:
        """Close all connections that are not in use."""
        self._engine.dispose()

    def _prepare(self, connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(self._read_only)
        cursor.close()

    def _translated(
        self, error: exc.DBAPIError, statement: Statement
    ) -> Refused | StoreFailed:
        origin = error.orig
        number = next(iter(getattr(origin, "args", ())), None)
        # Newer drivers of MySQL have both, and its SQLSTATE says too little.
        is_number = isinstance(number, int)
        code = number if is_number else getattr(origin, "sqlstate", None)
        tables = _tables(statement)
        named = ", ".join(tables)
        if code in _NO_RIGHT:
            denied = _DENIED.search(str(origin))
            right = denied[1] if denied else _RIGHTS[type(statement)]
            return Refused(self._grant(right, tables))
        if code in _NO_LOGIN:
            return Refused(
                f"{self.name} ({self.url}) does not let in the user "
                f"{self._url.username}: {origin}"
            )
        if code in _NO_TABLE or "no such table" in str(origin):
            return Refused(
                f"{self.name} ({self.url}) is not a database of Nova that the feed can "
                f"read ({named}): {origin}"
            )
        return StoreFailed(f"{self.name} ({self.url}) does not answer: {origin}")

    def _grant(self, right: str, tables: Sequence[str]) -> str:
        user, database = self._url.username, self._url.database
        if self._url.get_backend_name() == "mysql":
            grants = [
                f"GRANT {right} ON `{database}`.`{one}` TO '{user}'@'%';"
                for one in tables
            ]
        else:
            grants = [f'GRANT {right} ON "{one}" TO "{user}";' for one in tables]
        act = "read" if right == "SELECT" else "write"
        return (
            f"The user {user} may not {act} {', '.join(tables)} of {self.name} "
            f"({self.url}): {' '.join(grants)}"
        )


def _tables(statement: Statement) -> list[str]:
    if isinstance(statement, sa.Select):
        parts = chain.from_iterable(map(iterate, statement.get_final_froms()))
        return sorted({one.name for one in parts if isinstance(one, sa.Table)})
    return [str(statement.table)]


def _limits(url: URL, timeout_s: float) -> dict[str, Any]:
    """How long a driver waits, where the URL does not say so."""
    whole = max(1, round(timeout_s))
    given: dict[str, Any]
    match url.get_backend_name():
        case "mysql":
            names = ("connect_timeout", "read_timeout", "write_timeout")
            given = dict.fromkeys(names, whole)
        case "postgresql":
            given = {
                "connect_timeout": whole,
                "client_encoding": "utf8",
                # Times are read as text (``moments``), whatever style is usual there.
                "options": f"-c statement_timeout={1000 * whole} -c datestyle=ISO",
                "tcp_user_timeout": 1000 * whole,
            }
        case _:
            given = {"timeout": timeout_s}
    return {name: value for name, value in given.items() if name not in url.query}
