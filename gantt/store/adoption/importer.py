"""Copies the books from one database into another, also across dialects.

Apart from ``adopt``, which leaves the books where they are: here every row is read in
one snapshot and written in one transaction, and the sums of both sides are compared, so
that everything is copied or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isclose
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Connection,
    Float,
    Integer,
    Row,
    Table,
    delete,
    exc,
    func,
    select,
    update,
)

from gantt import errors
from gantt.model import rows
from gantt.store import head, schema
from gantt.store.adoption import old_rows
from gantt.store.adoption.adopt import PLACEMENT_TABLES, advance, counts, refuse_unfit
from gantt.store.adoption.old_rows import Legacy, Owner
from gantt.store.database import Database, database_at
from gantt.store.tables import (
    BOOKS,
    gantt_decisions,
    gantt_heartbeats,
    gantt_shadow,
    gantt_usage_history,
    gantt_zone_usage,
)

CHUNK = 5_000
_DEFAULT_OWNER = Owner()
_CUSTOM = "CUSTOM\\_%"

Progress = Callable[[str, int, int], None]
"""Called with a table, how many of its rows are copied, and how many it has."""


class Sums(Struct, frozen=True):
    """Sums of one table: its rows, each column of integers by name, and all ratios."""

    rows: int
    columns: dict[str, int]
    ratios: float

    def agrees_with(self, other: Sums) -> bool:
        """Whether both are equal. MariaDB stores ratios less exactly than others."""
        return (self.rows, self.columns) == (other.rows, other.columns) and isclose(
            self.ratios, other.ratios, rel_tol=1e-6
        )


class Copied(Struct, frozen=True):
    """What an import did, or would do. ``mended``: rows that were repaired after the
    comparison. ``replaced``: rows that were deleted. ``compared``: by table, the sums
    of the source and of the target; empty after a dry run. ``revision``: where the log
    begins; None after a dry run."""

    source: str
    target: str
    counts: dict[str, int]
    replaced: dict[str, int]
    mended: Legacy
    compared: dict[str, tuple[Sums, Sums]]
    revision: int | None


def import_books(
    source: str,
    target: str,
    *,
    owner: Owner = _DEFAULT_OWNER,
    replace: bool = False,
    is_dry: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Copy everything at ``source`` to ``target``, creating its tables if needed.

    ``replace``: rows of the target may be deleted. Raises Refused, and then the target
    is unchanged.
    """
    if _shown(source) == _shown(target):
        raise errors.Refused(f"{_shown(source)} cannot be copied to itself.")
    with _snapshot(source) as (old, reader):
        tables = _tables(old, reader)
        old_rows.require_whole(reader, old.url)
        found, there = counts(reader, tables), _glance(target)
        _refuse_full(target, there, replace=replace)
        if is_dry:
            mended = old_rows.count(reader)
            return Copied(old.url, _shown(target), found, there, mended, {}, None)
        # Before writing, because a server ends a writer that waits for a reader.
        wanted = {name: _sums(reader, BOOKS[name]) for name in found}
        schema.sync(target)
        with _alone(target) as (new, writer):
            there = _substance(writer, BOOKS)
            _refuse_full(target, there, replace=replace)
            _clear(writer, with_records=replace)
            for name in tables:
                total = found.get(name, 0)
                for done in _copied(reader, new, writer, BOOKS[name]):
                    (progress or _silent)(name, done, total)
            compared = {
                name: (sums, _sums(writer, BOOKS[name]))
                for name, sums in wanted.items()
            }
            _refuse_unlike(new, compared)
            mended = old_rows.mend(writer, owner, new.url)
            advance(new, writer, BOOKS)
            revision = head.begin_history(writer, head.IMPORT)
        return Copied(old.url, new.url, found, there, mended, compared, revision)


# -- the source -----------------------------------------------------------------------


@contextmanager
def _snapshot(url: str) -> Iterator[tuple[Database, Connection]]:
    with database_at(url) as database:
        schema.look(database)
        with database.engine.connect() as connection:
            for statement in database.snapshot:
                connection.exec_driver_sql(statement)
            yield database, connection
            connection.rollback()


def _tables(database: Database, connection: Connection) -> tuple[str, ...]:
    """The tables to copy, parents first: only Placement's, if the database belongs to
    Placement. Raises Refused."""
    found = schema.found_in(connection)
    refuse_unfit(database, found)
    if not found.has_head or found.is_released:
        return PLACEMENT_TABLES
    schema.refuse_foreign(database, found)
    if found.revision != schema.HEAD:
        raise errors.Refused(
            f"The schema of {database.url} is at revision {found.revision}, this "
            f"release copies {schema.HEAD}: run {database.command('db sync')} first."
        )
    return tuple(BOOKS)


# -- the target -----------------------------------------------------------------------


@contextmanager
def _alone(url: str) -> Iterator[tuple[Database, Connection]]:
    with database_at(url) as database:
        try:
            with database.engine.begin() as connection:
                for statement in database.begin:
                    connection.exec_driver_sql(statement)
                head.lock(connection)
                yield database, connection
        except exc.IntegrityError as error:
            reason = " ".join(str(error.orig).split())
            raise errors.Refused(
                f"{database.url} does not take a row ({reason}): it may treat names as "
                "equal that differ in the source, such as in capitals. Nothing was "
                "copied."
            ) from error


def _glance(url: str) -> dict[str, int]:
    """Rows by table of a target that may not exist yet."""
    with database_at(url) as database:
        if database.refusal() is not None:
            return {}
        with database.engine.connect() as connection:
            found = schema.found_in(connection)
            if found.has_books:
                schema.refuse_foreign(database, found)
            present = [name for name in BOOKS if name not in found.missing]
            return _substance(connection, present)


def _substance(connection: Connection, tables: Iterable[str]) -> dict[str, int]:
    """Rows by table, without the standard names that every Gantt adds."""
    found = counts(connection, tables)
    for name in {rows.RESOURCE_CLASSES, rows.TRAITS} & found.keys():
        table = BOOKS[name]
        query = select(func.count()).select_from(table)
        query = query.where(table.c.name.like(_CUSTOM, escape="\\"))
        found[name] = int(connection.execute(query).scalar_one())
    return {name: number for name, number in found.items() if number}


def _refuse_full(url: str, there: dict[str, int], *, replace: bool) -> None:
    if there and not replace:
        listed = ", ".join(f"{number} {name}" for name, number in there.items())
        raise errors.Refused(
            f"{_shown(url)} is not empty ({listed}): name an empty database, or pass "
            "--replace to delete what it holds."
        )


def _clear(connection: Connection, *, with_records: bool) -> None:
    """``with_records``: also delete usage history and decisions."""
    connection.execute(delete(gantt_heartbeats))
    records_of = (
        gantt_usage_history,
        gantt_zone_usage,
        gantt_decisions,
        gantt_shadow,
    )
    for records in records_of if with_records else ():
        connection.execute(delete(records))
    providers = BOOKS[rows.PROVIDERS]
    connection.execute(
        update(providers).values(root_provider_id=None, parent_provider_id=None)
    )
    for name in reversed(BOOKS):
        connection.execute(delete(BOOKS[name]))


# -- row by row -----------------------------------------------------------------------


def _copied(
    reader: Connection, target: Database, writer: Connection, table: Table
) -> Iterator[int]:
    """Copies a table; how many rows there are so far."""
    done = 0
    for chunk in _chunks(reader, table):
        target.pour(writer, table, chunk)
        done += len(chunk)
        yield done


def _silent(table: str, done: int, total: int) -> None:
    """No progress is shown."""


def _chunks(reader: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    """All rows of a table, parents before children."""
    query = select(table).order_by(*table.primary_key)
    if table.name == rows.PROVIDERS:
        ordered = _by_depth(reader.execute(query).all())
        for start in range(0, len(ordered), CHUNK):
            yield ordered[start : start + CHUNK]
        return
    streamed = reader.execute(query, execution_options={"yield_per": CHUNK})
    yield from streamed.partitions()


def _by_depth(providers: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Each after its parent and its root; cycles come last."""
    children: dict[int | None, list[Row[Any]]] = {}
    for one in providers:
        children.setdefault(one.parent_provider_id, []).append(one)
    ordered = list(children.pop(None, ()))
    for one in ordered:
        ordered.extend(children.pop(one.id, ()))
    return ordered + [one for rest in children.values() for one in rest]


# -- the comparison -------------------------------------------------------------------


def _sums(connection: Connection, table: Table) -> Sums:
    """Sums of all numeric columns: keys, references, amounts, generations, ratios."""
    whole = [column for column in table.c if isinstance(column.type, Integer)]
    ratios = [column for column in table.c if isinstance(column.type, Float)]
    asked = (func.sum(column) for column in (*whole, *ratios))
    query = select(func.count(), *asked).select_from(table)
    number, *sums = connection.execute(query).one()
    return Sums(
        int(number),
        {c.name: int(total or 0) for c, total in zip(whole, sums, strict=False)},
        sum(float(total or 0) for total in sums[len(whole) :]),
    )


def _refuse_unlike(database: Database, compared: dict[str, tuple[Sums, Sums]]) -> None:
    """Raises Refused, which undoes the import, if the sums of both sides differ."""
    unlike = [name for name, (old, new) in compared.items() if not old.agrees_with(new)]
    if unlike:
        raise errors.Refused(
            f"The sums of what was written to {database.url} differ from what was read "
            f"({', '.join(unlike)}). Nothing was copied."
        )


def _shown(url: str) -> str:
    with database_at(url) as database:
        return database.url
