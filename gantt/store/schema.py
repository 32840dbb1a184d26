"""Checks whether a database can be opened, and migrates its schema.

Apart from the store because it runs once, before anything is trusted: every way in
which a database can be wrong ends here, in a message that says what to do.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from sqlalchemy import (
    Connection,
    Inspector,
    exc,
    inspect,
    literal,
    select,
    text,
    update,
)

from gantt import errors
from gantt.model.rows import FLEET
from gantt.store.database import Database, cause_of, database_at
from gantt.store.database.dialect import POOLED
from gantt.store.head import RELEASED
from gantt.store.interface import StoreOptions
from gantt.store.outcomes import CommitOutcome, DefiniteAbort
from gantt.store.session import Counter, Session
from gantt.store.tables import (
    BOOKS,
    FORMAT,
    UPSTREAM_HEAD,
    UPSTREAM_VERSION_TABLE,
    VERSION_TABLE,
    gantt_fingerprint,
    gantt_head,
    metadata,
)

if TYPE_CHECKING:
    from alembic.config import Config

# Every released revision of the schema, oldest first.
REVISIONS = (
    "0001_books",
    "0002_gate",
    "0003_fleet",
    "0004_leader",
    "0005_usage",
    "0006_decisions",
    "0007_shadow",
    "0008_topology",
    "0009_heartbeats",
    "0010_reasons",
    "0011_zone_usage",
    "0012_answered",
    "0013_facts",
    "0014_bookings",
    "0015_long_facts",
)
HEAD = REVISIONS[-1]


class DatabaseState(Struct, frozen=True):
    """What is in a database, before anything is trusted.

    ``foreign``: tables of another program that have names of Placement's. ``has_head``:
    the table exists, with or without its row. ``is_begun``: the first
    migration broke off, which leaves some tables on MariaDB; no row was written.
    """

    has_books: bool
    has_head: bool
    is_begun: bool
    revision: str | None
    upstream_revision: str | None
    format: int | None
    missing: tuple[str, ...]
    foreign: tuple[str, ...] = ()

    @property
    def is_released(self) -> bool:
        """Whether it was handed back to Placement."""
        return self.format == RELEASED

    @property
    def is_ours(self) -> bool:
        """Whether the migrations got as far as the head row."""
        return self.has_head and self.revision not in (None, REVISIONS[0])


def check(url: str, options: StoreOptions | None = None) -> None:
    """Raises errors.Refused unless the database can be opened as it is."""
    with database_at(url, options) as database:
        check_database(database)


def sync(
    url: str, options: StoreOptions | None = None, *, spares_newer: bool = False
) -> str:
    """Create the tables or bring them up to date; the revision they now have.

    ``spares_newer``: leave tables alone that a newer Gantt has added to, if this
    release can still use them. Raises errors.Refused, and then nothing was changed.
    """
    options = msgspec.structs.replace(options or StoreOptions(), create=True)
    with database_at(url, options) as database:
        found = look(database)
        if spares_newer and is_expanded(found):
            return str(found.revision)
        refuse_foreign(database, found)
        if found.revision != HEAD:
            _migrate(database)
        check_database(database)
        return HEAD


def version(url: str, options: StoreOptions | None = None) -> str | None:
    """The revision of the schema; None when Gantt has no tables there."""
    with database_at(url, options) as database:
        return look(database).revision


def to_sync(url: str, options: StoreOptions | None = None) -> str:
    """The command line for ``sync``."""
    with database_at(url, options) as database:
        return database.command("db sync")


def stamp(url: str, revision: str, options: StoreOptions | None = None) -> None:
    """Record that the schema is at ``revision`` ("head": the newest); no table changes.

    Raises errors.Refused for a revision that does not exist.
    """
    wanted = HEAD if revision == "head" else revision
    if wanted not in REVISIONS:
        raise errors.Refused(
            f"There is no schema revision {revision}: the revisions are "
            f"{', '.join(REVISIONS)}."
        )
    with database_at(url, options) as database:
        look(database)
        _migrate_to(database, "stamp", wanted)


def check_database(database: Database) -> None:
    """Checks a database that is open already; logs the warnings."""
    found = look(database)
    if is_expanded(found):
        database.warn(
            f"its schema is at revision {found.revision}, which a newer Gantt made. It "
            f"is still in format {FORMAT}, so this release can run beside that one."
        )
        found = msgspec.structs.replace(found, revision=HEAD)
    refuse_foreign(database, found)
    where, run = database.url, database.command("db sync")
    if found.is_begun and found.has_books:
        raise errors.Refused(
            f"The tables of {where} are incomplete, an attempt broke off: run {run}."
        )
    if not found.has_books and found.revision is None:
        raise errors.Refused(
            f"The database {where} has none of Gantt's tables: correct the URL, or "
            f"create them with {run}."
        )
    if found.revision != HEAD:
        raise errors.Refused(
            f"The schema of {where} is at revision {found.revision}, this release "
            f"needs {HEAD}: run {run}."
        )
    if found.missing:
        raise errors.Refused(
            f"The database {where} claims to be at revision {HEAD} but has no table "
            f"{', '.join(found.missing)}: restore it from a backup."
        )
    if found.format is None:
        raise errors.Refused(
            f"The table gantt_head of {where} has lost its row: restore the database "
            "from a backup."
        )
    _probe(database)


def refuse_foreign(database: Database, found: DatabaseState) -> None:
    """Raises errors.Refused for a database that must be neither opened nor migrated."""
    where = database.url
    if found.foreign:
        raise errors.Refused(
            f"The database {where} has tables of another program under names of "
            f"Placement's, and so of Gantt's ({', '.join(found.foreign)}): give Gantt "
            f"{database.own_place}."
        )
    if found.is_begun:
        return
    if found.has_books and not found.has_head and found.revision != REVISIONS[0]:
        raise errors.Refused(
            f"The database {where} has the tables of OpenStack Placement but none of "
            f"Gantt's: stop Placement and run {database.command('adopt')}."
        )
    refuse_newer(database, found)
    if found.is_released:
        raise errors.Refused(
            f"The database {where} was handed back to OpenStack Placement: stop "
            f"Placement and run {database.command('adopt')} to take it over again."
        )
    if found.format not in (None, FORMAT) and not _is_older(found):
        raise errors.Refused(
            f"The database {where} is in format {found.format}, this release reads and "
            f"writes format {FORMAT}: use the version of Gantt that made it."
        )
    if found.has_books and found.upstream_revision != UPSTREAM_HEAD:
        raise errors.Refused(
            f"The table {UPSTREAM_VERSION_TABLE} of {where} says "
            f"{found.upstream_revision}, the tables of this release are those of "
            f"{UPSTREAM_HEAD}: has Placement been upgraded on this database? Bring "
            "its schema to that revision first."
        )


def is_expanded(found: DatabaseState) -> bool:
    """Whether a newer Gantt has added to the tables and not removed anything yet, which
    would change the format. Processes of this release may run until replaced."""
    return _is_newer(found) and found.format == FORMAT


def _is_older(found: DatabaseState) -> bool:
    """Whether a migration of this release raises the format that an older one left."""
    is_known = found.revision in REVISIONS[:-1]
    return is_known and RELEASED < (found.format or RELEASED) < FORMAT


def _is_newer(found: DatabaseState) -> bool:
    return found.revision is not None and found.revision not in REVISIONS


def refuse_newer(database: Database, found: DatabaseState) -> None:
    """Raises errors.Refused for tables that a newer Gantt made."""
    if _is_newer(found):
        raise errors.Refused(
            f"The schema of {database.url} is at revision {found.revision}, which this "
            f"release does not know (newest known: {HEAD}): a newer Gantt made it. "
            "Upgrade this program, or restore a backup from before."
        )


def look(database: Database) -> DatabaseState:
    """What is there. Raises errors.Refused if the database cannot be reached."""
    if (reason := database.refusal()) is not None:
        raise errors.Refused(reason)
    try:
        # A connection of the store first: its error says what to do.
        Session(database, Counter()).close()
        with database.engine.connect() as connection:
            return found_in(connection)
    except errors.StoreFailed as error:
        raise errors.Refused(str(error)) from error
    except exc.DBAPIError as error:
        raise errors.Refused(str(database.failure(cause_of(error)))) from error


def found_in(connection: Connection) -> DatabaseState:
    """What ``connection`` sees; under a lock, it does not change meanwhile."""
    inspector = inspect(connection)
    tables = set(inspector.get_table_names())
    has_head = gantt_head.name in tables
    wanted = select(gantt_head.c.format)
    is_ours = has_head or VERSION_TABLE in tables
    foreign = () if is_ours else _foreign(inspector, tables)
    books = tables & (set(BOOKS) - FLEET) - set(foreign)
    return DatabaseState(
        has_books=bool(books),
        has_head=has_head,
        is_begun=_is_begun(connection, tables),
        revision=_version_in(connection, VERSION_TABLE, tables),
        upstream_revision=_version_in(connection, UPSTREAM_VERSION_TABLE, tables),
        format=connection.execute(wanted).scalar() if has_head else None,
        missing=tuple(sorted(set(metadata.tables) - tables)),
        foreign=foreign,
    )


def _foreign(inspector: Inspector, tables: set[str]) -> tuple[str, ...]:
    """Tables of a program that keeps its own here, under names of Placement's: they
    have not the columns that every release of Placement has. A version table is of the
    one whose tables are there."""
    found = []
    for name in sorted(tables & (set(BOOKS) - FLEET)):
        there = {column["name"] for column in inspector.get_columns(name)}
        if not {one.name for one in BOOKS[name].c if not one.nullable} <= there:
            found.append(name)
    has_books = bool(tables & (set(BOOKS) - FLEET) - set(found))
    if UPSTREAM_VERSION_TABLE in tables and not has_books:
        found.append(UPSTREAM_VERSION_TABLE)
    return tuple(found)


def _is_begun(connection: Connection, tables: set[str]) -> bool:
    if VERSION_TABLE not in tables or gantt_head.name in tables:
        return False
    if _version_in(connection, VERSION_TABLE, tables) is not None:
        return False
    empty = select(literal(1)).limit(1)
    return not any(
        connection.execute(empty.select_from(BOOKS[name])).first()
        for name in tables & set(BOOKS)
    )


def _version_in(connection: Connection, table: str, tables: set[str]) -> str | None:
    if table not in tables:
        return None
    query = text(f"SELECT version_num FROM {table}")  # noqa: S608 - our constants
    return connection.execute(query).scalar()


def _probe(database: Database) -> None:
    """Write and roll back: finds what only shows then."""
    session = Session(database, Counter())
    same = update(gantt_fingerprint).values(facts=gantt_fingerprint.c.facts)
    try:
        session.start(database.begin)
        session.execute(database.compile(same).text)
        database.check_settings(session.all(database.read_back))
        database.is_in_use = True
        if _is_shared(database):
            database.warn(f"two connections share one session of the server: {POOLED}")
    except DefiniteAbort as abort:
        raise errors.Refused(
            f"The database {database.url} is locked by another process "
            f"({abort}): stop that process, or try again."
        ) from abort
    except (CommitOutcome, errors.StoreFailed) as error:
        raise errors.Refused(str(error)) from error
    finally:
        session.rollback()
        session.close()


def _is_shared(database: Database) -> bool:
    """Whether a pooler in between gives one server session to two connections."""
    if database.session_id is None:
        return False
    with (
        closing(Session(database, Counter())) as one,
        closing(Session(database, Counter())) as other,
    ):
        first = one.one(database.session_id)
        one.rollback()
        return bool(first == other.one(database.session_id))


def _migrate(database: Database) -> None:
    try:
        _migrate_to(database, "upgrade", "head")
    except exc.DBAPIError as error:
        failure = database.failure(cause_of(error))
        raise errors.Refused(f"The tables could not be created: {failure}") from error


def _migrate_to(database: Database, action: str, revision: str) -> None:
    """Have alembic do ``action`` in one transaction, excluding other migrations."""
    with database.engine.begin() as connection:
        exclude_migrations(database, connection)
        run_alembic(connection, action, revision)


def exclude_migrations(database: Database, connection: Connection) -> None:
    """Exclude other migrations until ``connection`` ends. Raises errors.Refused."""
    for statement in database.migrate:
        answer = connection.exec_driver_sql(statement)
        if answer.returns_rows and answer.scalar() == 0:  # MariaDB's get_lock
            raise errors.Refused(
                f"Another process is migrating the tables of {database.url}: try again "
                "when it has finished."
            )


def run_alembic(connection: Connection, action: str, revision: str) -> None:
    """Have alembic do ``action`` in the transaction of ``connection``."""
    from alembic import command

    getattr(command, action)(_config(connection), revision)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "gantt.store:migrations")
    config.attributes["connection"] = connection
    return config
