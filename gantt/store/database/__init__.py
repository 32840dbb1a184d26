"""Every difference between SQLite, PostgreSQL and MariaDB, and nothing else.

It stands apart so that no other module asks which database it talks to.
"""

from __future__ import annotations

import logging

from sqlalchemy import URL, exc, make_url

from gantt import errors
from gantt.store.contract import StoreOptions
from gantt.store.database.bulk import Bulk, Bulks
from gantt.store.database.dialect import Database, Statement
from gantt.store.database.mariadb import MysqlDatabase
from gantt.store.database.postgresql import PostgresDatabase
from gantt.store.database.sqlite import SqliteDatabase

__all__ = ["Bulk", "Bulks", "Database", "SqliteDatabase", "Statement", "open_database"]

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
