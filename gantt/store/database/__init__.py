"""Every difference between SQLite, PostgreSQL and MariaDB, and nothing else.

It stands apart so that no other module asks which database it talks to.
"""

from __future__ import annotations

from gantt import errors
from gantt.store.database.bulk import Bulk, Bulks
from gantt.store.database.dialect import Database, Statement
from gantt.store.database.mariadb import MysqlDatabase
from gantt.store.database.postgresql import PostgresDatabase
from gantt.store.database.sqlite import SqliteDatabase
from gantt.store.database.url import understood, unknown
from gantt.store.interface import StoreOptions

__all__ = ["Bulk", "Bulks", "Database", "SqliteDatabase", "Statement", "open_database"]

_EXTRAS = {"postgresql": "postgresql", "mysql": "mysql"}
_DIALECTS: dict[str, type[Database]] = {
    "sqlite": SqliteDatabase,
    "postgresql": PostgresDatabase,
    "mysql": MysqlDatabase,
}


def open_database(url: str, options: StoreOptions) -> Database:
    """The database at ``url``; nothing is connected yet. Raises Refused."""
    parsed = understood(url)
    dialect = parsed.get_backend_name()
    if dialect not in _DIALECTS:
        raise unknown(parsed)
    try:
        return _DIALECTS[dialect](parsed, options)
    except ImportError as error:
        extra = _EXTRAS.get(dialect, dialect)
        raise errors.Refused(
            f"The driver of {parsed.drivername} is not installed ({error}): install "
            f"gantt-scheduler[{extra}]."
        ) from error
