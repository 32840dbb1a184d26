"""Whether a database is fit to be opened, and making it so.

It stands apart from the store because it runs once, before anything is trusted: every
way in which a database can be wrong ends here, in a text that says what to do.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, exc, inspect, literal, select, text, update

from gantt import errors
from gantt.model.rows import FLEET
from gantt.store.database import Database, open_database
from gantt.store.database.dialect import POOLED
from gantt.store.database.url import command
from gantt.store.head import RELEASED
from gantt.store.interface import StoreOptions
from gantt.store.outcomes import DefiniteAbort, Outcome
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
)
HEAD = REVISIONS[-1]


class Found(Struct, frozen=True):
    """What is in a database, before anything is believed about it.

    ``has_head``: the table is there, with its row or without. ``is_begun``: the first
    migration broke off, which leaves a part of itself on MariaDB; no row was written.
    """

    has_books: bool
    has_head: bool
    is_begun: bool
    revision: str | None
    upstream_revision: str | None
    format: int | None
    missing: tuple[str, ...]

    @property
    def is_released(self) -> bool:
        """Whether it was handed back to Placement."""
        return self.format == RELEASED

    @property
    def is_ours(self) -> bool:
        """Whether the migrations came as far as the committer."""
        return self.has_head and self.revision not in (None, REVISIONS[0])


def check(url: str, options: StoreOptions | None = None) -> None:
    """Raises errors.Refused unless the database can be opened as it is."""
    database = open_database(url, options or StoreOptions())
    try:
        check_database(database)
    finally:
        database.close()


def sync(
    url: str, options: StoreOptions | None = None, *, spares_newer: bool = False
) -> str:
    """Make the tables or bring them up to date; the revision they now have.

    ``spares_newer``: to those that a newer Gantt has added to, and that this release
    can still use, nothing is done. Raises errors.Refused, and then nothing was changed.
    """
    options = msgspec.structs.replace(options or StoreOptions(), create=True)
    database = open_database(url, options)
    try:
        found = look(database)
        if spares_newer and is_expanded(found):
            return str(found.revision)
        refuse_foreign(database, found)
        if found.revision != HEAD:
            _migrate(database)
        check_database(database)
        return HEAD
    finally:
        database.close()


def version(url: str, options: StoreOptions | None = None) -> str | None:
    """The revision of the schema; None when Gantt has no tables there."""
    database = open_database(url, options or StoreOptions())
    try:
        return look(database).revision
    finally:
        database.close()


def to_sync(url: str, options: StoreOptions | None = None) -> str:
    """What to type for ``sync``."""
    database = open_database(url, options or StoreOptions())
    database.close()
    return command(database, "db sync")


def stamp(url: str, revision: str, options: StoreOptions | None = None) -> None:
    """Say that the schema is at ``revision`` ("head": the newest), changing no table.

    Raises errors.Refused for a revision that does not exist.
    """
    wanted = HEAD if revision == "head" else revision
    if wanted not in REVISIONS:
        raise errors.Refused(
            f"There is no schema revision {revision}: the revisions are "
            f"{', '.join(REVISIONS)}."
        )
    database = open_database(url, options or StoreOptions())
    try:
        look(database)
        _migrate_to(database, "stamp", wanted)
    finally:
        database.close()


def check_database(database: Database) -> None:
    """As ``check``, for a database that is open already; logs its warnings."""
    found = look(database)
    if is_expanded(found):
        database.warn(
            f"its schema is at revision {found.revision}, which a newer Gantt made. It "
            f"is still in format {FORMAT}, so this program goes on beside that."
        )
        found = msgspec.structs.replace(found, revision=HEAD)
    refuse_foreign(database, found)
    where, run = database.url, command(database, "db sync")
    if found.is_begun and found.has_books:
        raise errors.Refused(
            f"The tables of {where} were not all made, an attempt broke off: run {run}."
        )
    if not found.has_books and found.revision is None:
        raise errors.Refused(
            f"The database {where} has none of Gantt's tables: correct the URL, or "
            f"make them with {run}."
        )
    if found.revision != HEAD:
        raise errors.Refused(
            f"The schema of {where} is at revision {found.revision}, this program "
            f"needs {HEAD}: run {run}."
        )
    if found.missing:
        raise errors.Refused(
            f"The database {where} says that it is at revision {HEAD}, yet it has no "
            f"table {', '.join(found.missing)}: restore it from a backup."
        )
    if found.format is None:
        raise errors.Refused(
            f"The table gantt_head of {where} has lost its row: restore the database "
            "from a backup."
        )
    _probe(database)


def refuse_foreign(database: Database, found: Found) -> None:
    """Raises errors.Refused for what neither opening nor migrating may touch."""
    where = database.url
    if found.is_begun:
        return
    if found.has_books and not found.has_head and found.revision != REVISIONS[0]:
        raise errors.Refused(
            f"The database {where} has the tables of OpenStack Placement but none of "
            f"Gantt's: stop Placement and run {command(database, 'adopt')}."
        )
    refuse_newer(database, found)
    if found.is_released:
        raise errors.Refused(
            f"The database {where} was handed back to OpenStack Placement: stop "
            f"Placement and run {command(database, 'adopt')} to take it over again."
        )
    if found.format is not None and found.format != FORMAT:
        raise errors.Refused(
            f"The database {where} is held in format {found.format}, this program "
            f"reads and writes format {FORMAT}: use the version of Gantt that made it."
        )
    if found.has_books and found.upstream_revision != UPSTREAM_HEAD:
        raise errors.Refused(
            f"The table {UPSTREAM_VERSION_TABLE} of {where} says "
            f"{found.upstream_revision}, the tables of this program are those of "
            f"{UPSTREAM_HEAD}: has Placement been upgraded on this database? Bring "
            "its schema to that revision first."
        )


def is_expanded(found: Found) -> bool:
    """Whether a newer Gantt has added to the tables, and taken nothing away yet: that
    changes the format. Processes of this release may go on until they are replaced."""
    return _is_newer(found) and found.format == FORMAT


def _is_newer(found: Found) -> bool:
    return found.revision is not None and found.revision not in REVISIONS


def refuse_newer(database: Database, found: Found) -> None:
    """Raises errors.Refused for tables that a newer Gantt has made."""
    if _is_newer(found):
        raise errors.Refused(
            f"The schema of {database.url} is at revision {found.revision}, which this "
            f"program does not know (newest known: {HEAD}): a newer Gantt made it. "
            "Upgrade this program, or restore a backup from before."
        )


def look(database: Database) -> Found:
    """What is there. Raises errors.Refused when there is nothing to look at."""
    if (reason := database.refusal()) is not None:
        raise errors.Refused(reason)
    try:
        # A connection of the store first: its error names what to do.
        Session(database, Counter()).close()
        with database.engine.connect() as connection:
            return found_in(connection)
    except errors.StoreFailed as error:
        raise errors.Refused(str(error)) from error
    except exc.DBAPIError as error:
        cause = error.orig if isinstance(error.orig, Exception) else error
        raise errors.Refused(str(database.failure(cause))) from error


def found_in(connection: Connection) -> Found:
    """What ``connection`` sees; under a lock, nothing of it changes meanwhile."""
    tables = set(inspect(connection).get_table_names())
    has_head = gantt_head.name in tables
    wanted = select(gantt_head.c.format)
    return Found(
        has_books=bool(tables & (set(BOOKS) - FLEET)),
        has_head=has_head,
        is_begun=_is_begun(connection, tables),
        revision=_version_in(connection, VERSION_TABLE, tables),
        upstream_revision=_version_in(connection, UPSTREAM_VERSION_TABLE, tables),
        format=connection.execute(wanted).scalar() if has_head else None,
        missing=tuple(sorted(set(metadata.tables) - tables)),
    )


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
    """Write, and think better of it: finds what only shows then."""
    session = Session(database, Counter())
    same = update(gantt_fingerprint).values(facts=gantt_fingerprint.c.facts)
    try:
        session.start(database.begin)
        session.execute(database.compile(same).text)
        database.check_settings(session.all(database.read_back))
        database.is_in_use = True
        if _is_shared(database):
            database.warn(f"two connections have one session of the server: {POOLED}")
    except DefiniteAbort as abort:
        raise errors.Refused(
            f"The database {database.url} is locked by another process "
            f"({abort}): stop that process, or try again."
        ) from abort
    except (Outcome, errors.StoreFailed) as error:
        raise errors.Refused(str(error)) from error
    finally:
        session.rollback()
        session.close()


def _is_shared(database: Database) -> bool:
    """Whether something in between gives the session of one connection to another."""
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
        cause = error.orig if isinstance(error.orig, Exception) else error
        raise errors.Refused(
            f"The tables could not be made: {database.failure(cause)}"
        ) from error


def _migrate_to(database: Database, action: str, revision: str) -> None:
    """Let alembic do ``action`` in one transaction, alone on the database."""
    with database.engine.begin() as connection:
        keep_others_away(database, connection)
        run_alembic(connection, action, revision)


def keep_others_away(database: Database, connection: Connection) -> None:
    """Until ``connection`` ends no other migration runs. Raises errors.Refused."""
    for statement in database.migrate:
        told = connection.exec_driver_sql(statement)
        if told.returns_rows and told.scalar() == 0:  # MariaDB's way to say no
            raise errors.Refused(
                f"Another process is changing the tables of {database.url}: try again "
                "when it has ended."
            )


def run_alembic(connection: Connection, action: str, revision: str) -> None:
    """Let alembic do ``action`` in the transaction of ``connection``."""
    from alembic import command

    getattr(command, action)(_config(connection), revision)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "gantt.store:migrations")
    config.attributes["connection"] = connection
    return config
