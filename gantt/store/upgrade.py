"""What in the books of a database stands in the way of using it with this release.

Apart from ``schema``, which looks at tables: this counts rows that old releases of
Placement could leave behind, in any database that has Placement's tables.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, exc, func, inspect, select

from gantt import errors
from gantt.store.contract import StoreOptions
from gantt.store.database import open_database
from gantt.store.tables import allocations, consumers, resource_providers


class Obstacles(Struct, frozen=True):
    """How many rows are not as this release needs them; zero of each is well.

    ``rootless_providers``: bear no root. ``unknown_consumers``: have allocations and
    no record of their own.
    """

    rootless_providers: int
    unknown_consumers: int


def obstacles(url: str) -> Obstacles:
    """Count them. Raises Refused when there are no books to look at."""
    database = open_database(url, StoreOptions())
    try:
        if (reason := database.refusal()) is not None:
            raise errors.Refused(reason)
        with database.engine.connect() as connection:
            _require_books(connection, database.url)
            return Obstacles(
                rootless_providers=_count(connection, _rootless()),
                unknown_consumers=_count(connection, _unknown()),
            )
    except exc.DBAPIError as error:
        cause = error.orig if isinstance(error.orig, Exception) else error
        raise errors.Refused(str(database.failure(cause))) from error
    finally:
        database.close()


def _require_books(connection: Connection, where: str) -> None:
    present = set(inspect(connection).get_table_names())
    wanted = {resource_providers.name, allocations.name, consumers.name}
    if missing := sorted(wanted - present):
        raise errors.Refused(
            f"The database {where} has no books ({', '.join(missing)} are missing): "
            "name another one, or run `gantt-manage db sync`."
        )


def _rootless() -> Select[Any]:
    return (
        select(func.count())
        .select_from(resource_providers)
        .where(resource_providers.c.root_provider_id.is_(None))
    )


def _unknown() -> Select[Any]:
    return (
        select(func.count(allocations.c.consumer_id.distinct()))
        .select_from(
            allocations.outerjoin(
                consumers, allocations.c.consumer_id == consumers.c.uuid
            )
        )
        .where(consumers.c.id.is_(None))
    )


def _count(connection: Connection, query: Select[Any]) -> int:
    return int(connection.execute(query).scalar_one())
