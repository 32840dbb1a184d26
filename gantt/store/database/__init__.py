"""Every difference between SQLite, PostgreSQL and MariaDB, and nothing else.

It stands apart so that no other module asks which database it talks to.
"""

from __future__ import annotations

from gantt import errors
from gantt.store.database.bulk import Bulk, Bulks
from gantt.store.database.dialect import Database, Statement
from gantt.store.database.sqlite import SqliteDatabase
from gantt.store.database.url import understood, unknown
from gantt.store.interface import StoreOptions

__all__ = ["Bulk", "Bulks", "Database", "SqliteDatabase", "Statement", "open_database"]

_EXTRAS = {"postgresql": "postgresql", "mysql": "mysql"}


def open_database(url: str, options: StoreOptions) -> Database:
    """The database at ``url``; nothing is connected yet. Raises Refused."""
    parsed = understood(url)
    dialect = parsed.get_backend_name()
    try:
        match dialect:
            case "sqlite":
                return SqliteDatabase(parsed, options)
            case "postgresql":
                from gantt.store.database.postgresql import PostgresDatabase

                return PostgresDatabase(parsed, options)
            case "mysql":
                from gantt.store.database.mariadb import MysqlDatabase

                return MysqlDatabase(parsed, options)
    except ImportError as error:
        extra = _EXTRAS.get(dialect, dialect)
        raise errors.Refused(
            f"The driver of {parsed.drivername} is not installed ({error}): install "
            f"gantt-scheduler[{extra}]."
        ) from error
    raise unknown(parsed)
