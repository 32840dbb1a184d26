"""All differences between SQLite, PostgreSQL and MariaDB: no other module asks which
database it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from gantt import errors
from gantt.store.database.bulk import Bulk, Bulks
from gantt.store.database.dialect import Database, Statement, limited
from gantt.store.database.sqlite import SqliteDatabase
from gantt.store.database.url import understood, unknown
from gantt.store.interface import StoreOptions

__all__ = ["Bulk", "Bulks", "Database", "SqliteDatabase", "Statement", "limited"]

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
            f"The driver of {parsed.drivername} is not installed ({error}): "
            f"{errors.how_to_install(extra)}."
        ) from error
    raise unknown(parsed)


@contextmanager
def database_at(url: str, options: StoreOptions | None = None) -> Iterator[Database]:
    """The database at ``url``, closed at the end. Raises Refused, also for errors of
    the database within."""
    database = open_database(url, options or StoreOptions())
    try:
        yield database
    except exc.DBAPIError as error:
        raise errors.Refused(str(database.failure(cause_of(error)))) from error
    finally:
        database.close()


def cause_of(error: exc.DBAPIError) -> Exception:
    return error.orig if isinstance(error.orig, Exception) else error
