"""Taking over a database that OpenStack Placement made, and handing it back.

Apart from ``schema`` because both are an operator's decision: nothing here happens by
itself. Placement's tables are left as they are, except for rows that Placement would
repair itself. Gantt's tables are added beside them, and stay when the database is
handed back, so that it can be taken over again with all that they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from sqlalchemy import Connection, func, inspect, select, text

from gantt import errors
from gantt.model.rows import FLEET
from gantt.store import head, schema
from gantt.store.adoption import old_rows
from gantt.store.adoption.old_rows import Legacy, Owner
from gantt.store.database import Database, database_at
from gantt.store.interface import Progress
from gantt.store.schema import DatabaseState
from gantt.store.tables import (
    BOOKS,
    UPSTREAM_HEAD,
    UPSTREAM_VERSION_TABLE,
    VERSION_TABLE,
    gantt_bookings,
    gantt_log,
    metadata,
)

PLACEMENT_RELEASE = "16.0.0"
PLACEMENT_TABLES = tuple(name for name in BOOKS if name not in FLEET)
# Older schemas of Placement, which its own migrations can upgrade.
_OLDER = ("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366")


class Adoption(Struct, frozen=True):
    """What taking over did, or would do.

    ``was``: the owner before. ``mended``: rows that were repaired. ``counts``: rows by
    table. ``revision``: where the log begins; None: nothing was done.
    """

    url: str
    was: str
    mended: Legacy
    counts: dict[str, int]
    revision: int | None


class Release(Struct, frozen=True):
    """What handing back did, or would do.

    ``was``: the owner before. ``leased``: claims neither confirmed nor expired, whose
    allocations stay. ``dropped``: tables that are gone.
    """

    url: str
    was: str
    counts: dict[str, int]
    leased: int
    dropped: tuple[str, ...]


PLACEMENTS, RELEASED, OURS = "Placement's", "released", "Gantt's"
_DEFAULT_OWNER = Owner()


def adopt(
    url: str,
    *,
    owner: Owner = _DEFAULT_OWNER,
    is_dry: bool = False,
    progress: Progress | None = None,
) -> Adoption:
    """Take over the books at ``url``; may be repeated. ``progress`` is told of the rows
    that were checked.

    Raises Refused, and then nothing was changed.
    """
    with _alone(url) as (database, connection):
        found = schema.found_in(connection)
        refuse_unfit(database, found)
        owned_by = _owner_of(found)
        if owned_by == OURS:
            schema.refuse_foreign(database, found)
        present = counts(connection, _present(connection))
        if owned_by == OURS and present and not _has_history(connection):
            owned_by = PLACEMENTS  # taking it over broke off
        if owned_by == OURS:
            return Adoption(database.url, owned_by, Legacy(), present, None)
        schema.refuse_newer(database, found)
        old_rows.require_whole(connection, database.url, present, progress)
        if is_dry:
            mended = old_rows.count(connection)
            return Adoption(database.url, owned_by, mended, present, None)
        mended = old_rows.mend(connection, owner, database.url)
        revision = _take_over(connection, found)
        return Adoption(database.url, owned_by, mended, present, revision)


def release(url: str, *, drop: bool = False, is_dry: bool = False) -> Release:
    """Hand the books at ``url`` back to Placement; may be repeated.

    ``drop``: also drop Gantt's own tables, with what hosts have reported and what is
    claimed. Raises Refused, and then nothing was changed.
    """
    with _alone(url) as (database, connection):
        found = schema.found_in(connection)
        owned_by = _owner_of(found)
        if owned_by == PLACEMENTS:
            raise errors.Refused(
                f"The database {database.url} is not Gantt's, so there is nothing to "
                "hand back."
            )
        if owned_by == OURS:
            schema.refuse_foreign(database, found)
        present = counts(connection, _present(connection))
        leased = _leased(connection)
        gone = _own_tables(connection) if drop else ()
        if not is_dry:
            if owned_by == OURS:
                _hand_back(database, connection)
            for name in gone:
                connection.execute(text(f"DROP TABLE {name}"))
        return Release(database.url, owned_by, present, leased, gone)


def counts(connection: Connection, tables: Iterable[str]) -> dict[str, int]:
    """Rows by table; empty tables are left out."""
    found = {}
    for name in tables:
        query = select(func.count()).select_from(BOOKS[name])
        found[name] = int(connection.execute(query).scalar_one())
    return {name: number for name, number in found.items() if number}


@contextmanager
def _alone(url: str) -> Iterator[tuple[Database, Connection]]:
    """A transaction that excludes migrations and committers; commits at the end.

    Raises Refused for errors of the database.
    """
    with database_at(url) as database:
        found = schema.look(database)
        with database.engine.begin() as connection:
            schema.exclude_migrations(database, connection)
            if found.has_head:
                head.lock(connection)
            yield database, connection


def _owner_of(found: DatabaseState) -> str:
    if found.is_released:
        return RELEASED
    return OURS if found.is_ours else PLACEMENTS


def _has_history(connection: Connection) -> bool:
    """Whether the log has begun: it has everything that Gantt writes."""
    return connection.execute(select(gantt_log.c.revision).limit(1)).first() is not None


def refuse_unfit(database: Database, found: DatabaseState) -> None:
    """Raises Refused unless the tables are those of the known release of Placement."""
    where = database.url
    if not found.has_books:
        raise errors.Refused(
            f"The database {where} has no tables of OpenStack Placement: check the "
            f"URL; for new books run {database.command('db sync')}."
        )
    revision = found.upstream_revision
    if revision != UPSTREAM_HEAD:
        raise errors.Refused(
            f"The table {UPSTREAM_VERSION_TABLE} of {where} says {revision}, this "
            f"release knows the tables of {UPSTREAM_HEAD} (OpenStack Placement "
            f"{PLACEMENT_RELEASE}): {_way_out(revision)}"
        )
    if missing := sorted(set(PLACEMENT_TABLES) & set(found.missing)):
        raise errors.Refused(
            f"The database {where} claims to be at revision {UPSTREAM_HEAD} but has no "
            f"table {', '.join(missing)}: restore it from a backup."
        )


def _way_out(revision: str | None) -> str:
    if revision in _OLDER:
        return (
            f"it is older. Run `placement-manage db sync` of Placement "
            f"{PLACEMENT_RELEASE} first."
        )
    if revision is None:
        return (
            "no release of Placement leaves it so. If the tables are those of this "
            f"one, run its `placement-manage db stamp {UPSTREAM_HEAD}` first."
        )
    return "it is probably newer. Use a Gantt that knows it."


def _take_over(connection: Connection, found: DatabaseState) -> int:
    """Gantt's tables beside Placement's, and a log that begins here."""
    if found.revision is None:
        schema.run_alembic(connection, "stamp", schema.REVISIONS[0])
    if found.revision != schema.HEAD:
        schema.run_alembic(connection, "upgrade", "head")
    return head.begin_history(connection, head.ADOPT)


def _hand_back(database: Database, connection: Connection) -> None:
    """From now on all committers and readers of Gantt find that they must stop."""
    advance(database, connection, PLACEMENT_TABLES)
    head.begin_history(connection, head.RELEASE, becomes=head.RELEASED)


def advance(database: Database, connection: Connection, tables: Iterable[str]) -> None:
    """Advance the sequences past ids that were given without them."""
    if database.advance is None:
        return
    for name in counts(connection, tables):
        table = BOOKS[name]
        if "id" in table.c:
            highest = connection.execute(select(func.max(table.c.id))).scalar_one()
            connection.exec_driver_sql(database.advance, (highest, name))


def _leased(connection: Connection) -> int:
    if gantt_bookings.name not in _present(connection):
        return 0
    query = select(func.count()).select_from(gantt_bookings)
    query = query.where(gantt_bookings.c.leased_until > 0)
    return int(connection.execute(query).scalar_one())


def _present(connection: Connection) -> tuple[str, ...]:
    tables = set(inspect(connection).get_table_names())
    return tuple(name for name in BOOKS if name in tables)


def _own_tables(connection: Connection) -> tuple[str, ...]:
    """Gantt's own tables that exist. The version goes first and the head last, so that
    both commands can be repeated if dropping breaks off."""
    tables = set(inspect(connection).get_table_names())
    mine = sorted(set(metadata.tables) - set(PLACEMENT_TABLES) - {"gantt_head"})
    return tuple(
        name for name in (VERSION_TABLE, *mine, "gantt_head") if name in tables
    )
