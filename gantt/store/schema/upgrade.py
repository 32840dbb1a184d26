"""What in the books of a database stands in the way of using it with this release.

Apart from ``schema``, which refuses databases as they are: this looks at any that has
Placement's tables, whoever they belong to.
"""

from __future__ import annotations

from sqlalchemy import Connection, exc, inspect

from gantt import errors
from gantt.store.adoption import legacy
from gantt.store.adoption.legacy import Legacy
from gantt.store.database import Database, open_database
from gantt.store.database.naming import command
from gantt.store.interface import StoreOptions
from gantt.store.tables import allocations, consumers, resource_providers


def obstacles(url: str, options: StoreOptions | None = None) -> Legacy:
    """Count them. Raises Refused when there are no books to look at."""
    database = open_database(url, options or StoreOptions())
    try:
        if (reason := database.refusal()) is not None:
            raise errors.Refused(reason)
        with database.engine.connect() as connection:
            _require_books(connection, database)
            return legacy.count(connection)
    except exc.DBAPIError as error:
        cause = error.orig if isinstance(error.orig, Exception) else error
        raise errors.Refused(str(database.failure(cause))) from error
    finally:
        database.close()


def _require_books(connection: Connection, database: Database) -> None:
    present = set(inspect(connection).get_table_names())
    wanted = {resource_providers.name, allocations.name, consumers.name}
    if missing := sorted(wanted - present):
        raise errors.Refused(
            f"The database {database.url} has no books ({', '.join(missing)} are "
            f"missing): name another one, or run {command(database, 'db sync')}."
        )
