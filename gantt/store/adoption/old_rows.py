"""Incomplete rows that old releases of Placement, or manual edits, could leave behind.

Placement repairs the same in the same way (``placement-manage db
online_data_migrations``), so that the result is right for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Connection,
    Select,
    Table,
    func,
    insert,
    inspect,
    select,
    update,
)

from gantt import errors
from gantt.store.database import Database, database_at
from gantt.store.interface import Progress, StoreOptions
from gantt.store.tables import (
    allocations,
    consumers,
    inventories,
    metadata,
    projects,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    users,
)

NO_OWNER = "00000000-0000-0000-0000-000000000000"

# Child, its column, and the table whose ids it holds.
_REFERENCES: tuple[tuple[Table, str, str], ...] = (
    (resource_providers, "parent_provider_id", "resource_providers"),
    (resource_providers, "root_provider_id", "resource_providers"),
    (inventories, "resource_provider_id", "resource_providers"),
    (inventories, "resource_class_id", "resource_classes"),
    (allocations, "resource_provider_id", "resource_providers"),
    (allocations, "resource_class_id", "resource_classes"),
    (consumers, "project_id", "projects"),
    (consumers, "user_id", "users"),
    (consumers, "consumer_type_id", "consumer_types"),
    (resource_provider_traits, "trait_id", "traits"),
    (resource_provider_traits, "resource_provider_id", "resource_providers"),
    (resource_provider_aggregates, "resource_provider_id", "resource_providers"),
    (resource_provider_aggregates, "aggregate_id", "placement_aggregates"),
)


class Legacy(Struct, frozen=True):
    """How many rows are incomplete.

    ``no_generation``, ``no_root``: providers without; ``no_record``: consumers that
    have allocations and no record of project and user.
    """

    no_generation: int = 0
    no_root: int = 0
    no_record: int = 0

    @property
    def total(self) -> int:
        return self.no_generation + self.no_root + self.no_record


class Owner(Struct, frozen=True):
    """The project and user of consumers without a record: external ids."""

    project: str = NO_OWNER
    user: str = NO_OWNER


def count(connection: Connection) -> Legacy:
    """What ``mend`` would repair."""
    return Legacy(
        no_generation=_number(connection, _providers_without("generation")),
        no_root=_number(connection, _providers_without("root_provider_id")),
        no_record=_number(connection, _unrecorded(func.count(_CONSUMER.distinct()))),
    )


def require_whole(
    connection: Connection,
    where: str,
    counts: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> None:
    """Raises Refused if rows refer to others that do not exist: these cannot be
    repaired. ``progress`` is told of the rows looked at, with the ``counts`` of all
    tables; each is looked at once for each of its references."""
    sizes = [(counts or {}).get(child.name, 0) for child, _, _ in _REFERENCES]
    wrong, done = [], 0
    for (child, column, parent), size in zip(_REFERENCES, sizes, strict=True):
        if found := _number(connection, _dangling(child, column, parent)):
            wrong.append(f"{found} of {child.name}.{column}")
        done += size
        if progress is not None:
            progress(done, sum(sizes))
    if wrong:
        raise errors.Refused(
            f"Rows of {where} refer to others that do not exist ({', '.join(wrong)}): "
            "correct or delete these rows first, Placement cannot use them either."
        )


def mend(connection: Connection, owner: Owner, where: str) -> Legacy:
    """Fill in what is missing; how much was. Raises Refused for a cycle of parents.

    The caller commits.
    """
    found = count(connection)
    if found.no_generation:
        table = resource_providers
        missing = table.c.generation.is_(None)
        connection.execute(update(table).where(missing).values(generation=0))
    if found.no_root:
        _mend_roots(connection, where)
    if found.no_record:
        _mend_consumers(connection, owner)
    return found


def _mend_roots(connection: Connection, where: str) -> None:
    """Roots first, then their descendants level by level."""
    table = resource_providers
    rootless = table.c.root_provider_id.is_(None)
    top = table.c.parent_provider_id.is_(None)
    connection.execute(
        update(table).where(rootless, top).values(root_provider_id=table.c.id)
    )
    parent = table.alias("parent")
    below = (
        select(table.c.id, parent.c.root_provider_id)
        .join_from(table, parent, table.c.parent_provider_id == parent.c.id)
        .where(rootless, parent.c.root_provider_id.is_not(None))
    )
    while found := connection.execute(below).all():
        for child, root in found:
            connection.execute(
                update(table).where(table.c.id == child).values(root_provider_id=root)
            )
    if left := _number(connection, _providers_without("root_provider_id")):
        raise errors.Refused(
            f"The parents of {left} providers in {where} form a cycle, so that they "
            "have no root: correct parent_provider_id of one of them."
        )


def _mend_consumers(connection: Connection, owner: Owner) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    project = _id_of(connection, projects, owner.project, now)
    user = _id_of(connection, users, owner.user, now)
    missing = connection.execute(_unrecorded(_CONSUMER).distinct()).scalars().all()
    connection.execute(
        insert(consumers),
        [
            {
                "uuid": uuid,
                "project_id": project,
                "user_id": user,
                "generation": 0,
                "created_at": now,
            }
            for uuid in missing
        ],
    )


def _id_of(connection: Connection, table: Table, external: str, now: datetime) -> int:
    wanted = select(table.c.id).where(table.c.external_id == external)
    found = connection.execute(wanted).scalar()
    if found is None:
        connection.execute(insert(table).values(external_id=external, created_at=now))
        found = connection.execute(wanted).scalar_one()
    return int(found)


_CONSUMER = allocations.c.consumer_id


def _providers_without(column: str) -> Select[Any]:
    table = resource_providers
    return select(func.count()).select_from(table).where(table.c[column].is_(None))


def _unrecorded(what: Any) -> Select[Any]:
    known = allocations.outerjoin(consumers, consumers.c.uuid == _CONSUMER)
    return select(what).select_from(known).where(consumers.c.id.is_(None))


def _dangling(child: Table, column: str, parent: str) -> Select[Any]:
    other = metadata.tables[parent].alias("other")
    both = child.outerjoin(other, child.c[column] == other.c.id)
    return (
        select(func.count())
        .select_from(both)
        .where(other.c.id.is_(None), child.c[column].is_not(None))
    )


def _number(connection: Connection, query: Select[Any]) -> int:
    return int(connection.execute(query).scalar_one())


def obstacles(url: str, options: StoreOptions | None = None) -> Legacy:
    """What ``adopt`` would mend. Raises Refused when there are no books."""
    with database_at(url, options) as database:
        if (reason := database.refusal()) is not None:
            raise errors.Refused(reason)
        with database.engine.connect() as connection:
            _require_books(connection, database)
            return count(connection)


def _require_books(connection: Connection, database: Database) -> None:
    present = set(inspect(connection).get_table_names())
    wanted = {resource_providers.name, allocations.name, consumers.name}
    if missing := sorted(wanted - present):
        raise errors.Refused(
            f"The database {database.url} has no books ({', '.join(missing)} are "
            f"missing): name another one, or run {database.command('db sync')}."
        )
