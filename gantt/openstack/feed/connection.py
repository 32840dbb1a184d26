"""A connection to one of Nova's databases: it only reads, and does not wait for long.

What a driver says becomes one of two errors: Refused for what an operator must mend (a
missing right, a table that is not there), StoreFailed for what may pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy import URL, event, exc

from gantt.errors import Refused, StoreFailed
from gantt.model.addresses import without_secrets
from gantt.store.database.url import understood

Row: TypeAlias = "sa.Row[*tuple[Any, ...]]"
Select: TypeAlias = "sa.Select[*tuple[Any, ...]]"
PAGE: Final = 2_000

# MySQL's numbers, and the SQLSTATE of PostgreSQL.
_NO_RIGHT: Final = frozenset({1142, 1143, 1044, "42501"})
_NO_LOGIN: Final = frozenset({1045, 1698, "28P01", "28000"})
_NO_TABLE: Final = frozenset({1146, 1054, 1049, "42P01", "42703", "3D000"})
_READ_ONLY: Final = {
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}


class Database:
    """``name``: as messages call it. Any thread may read, a few at a time."""

    def __init__(self, name: str, url: str, timeout_s: float) -> None:
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
        except ImportError as error:
            raise Refused(
                f"{name}: the driver of {dialect} is not installed: {error}."
            ) from error
        self._read_only = _READ_ONLY[dialect]
        event.listen(self._engine, "connect", self._prepare)

    @property
    def url(self) -> str:
        """Where it is, without the password."""
        return without_secrets(self._url.render_as_string(hide_password=True))

    def rows(self, statement: Select) -> Sequence[Row]:
        """The rows of ``statement``. Raises Refused, StoreFailed."""
        try:
            with self._engine.connect() as connection:
                return connection.execute(statement).all()
        except exc.TimeoutError as error:
            raise StoreFailed(f"{self.name}: all connections are in use.") from error
        except exc.DBAPIError as error:
            raise self._translated(error, statement) from error

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
        self, error: exc.DBAPIError, statement: Select
    ) -> Refused | StoreFailed:
        origin = error.orig
        code = getattr(origin, "sqlstate", None) or next(
            iter(getattr(origin, "args", ())), None
        )
        tables = sorted({one.name for one in statement.get_final_froms()})  # type: ignore[attr-defined]
        named = ", ".join(tables)
        if code in _NO_RIGHT:
            return Refused(self._grant(tables))
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

    def _grant(self, tables: Sequence[str]) -> str:
        user, database = self._url.username, self._url.database
        if self._url.get_backend_name() == "mysql":
            grants = [
                f"GRANT SELECT ON `{database}`.`{one}` TO '{user}'@'%';"
                for one in tables
            ]
        else:
            grants = [f'GRANT SELECT ON "{one}" TO "{user}";' for one in tables]
        return (
            f"The user {user} may not read {', '.join(tables)} of {self.name} "
            f"({self.url}): {' '.join(grants)}"
        )


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
                "options": f"-c statement_timeout={1000 * whole}",
                "tcp_user_timeout": 1000 * whole,
            }
        case _:
            given = {"timeout": timeout_s}
    return {name: value for name, value in given.items() if name not in url.query}
