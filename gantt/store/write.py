"""Writes the rows of a batch of changes in a constant number of statements.

It stands apart from the log because it may forget: of all changes to one row in a
batch only the first old and the last new value matter. ``Plan`` decides that without
SQL; ``Writer`` sends it, and compares what the database had with what was known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import (
    BindParameter,
    ClauseElement,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    null,
    update,
)

from gantt.model import rows
from gantt.model.changes import Change
from gantt.model.rows import ROW_TYPES, Key, Row, key_of
from gantt.store.database import Database, Statement
from gantt.store.outcomes import ForeignWrite
from gantt.store.session import Session
from gantt.store.tables import BOOKS, COLUMNS

INSERT, UPDATE, DELETE = "insert", "update", "delete"

_GUARDED = frozenset({rows.PROVIDERS, rows.CONSUMERS})
_OLD, _NEW = "old_", "new_"
# What is unique in the tables of the fleet.
_UNIQUE: dict[type[Row], tuple[str, ...]] = {
    rows.HostRow: ("host", "node"),
    rows.ServiceRow: ("host", "binary"),
    rows.HostAggregateRow: ("uuid",),
    rows.InstanceRow: ("uuid",),
    rows.ServerGroupRow: ("uuid",),
    rows.ClaimRow: ("instance_uuid",),
}


_Prepared: TypeAlias = tuple[Statement, Callable[[Any], tuple[Any, ...]]]


class Step(Struct, frozen=True):
    """One statement for all of ``pairs``: (old, new) of rows of one table."""

    table: str
    verb: str
    pairs: list[tuple[Row | None, Row | None]]


def plan(changes: Iterable[Change]) -> list[Step]:
    """The statements for a batch, in an order that every constraint allows.

    Deletes go first, children before parents, then new names, which an update may
    refer to, then updates, then inserts, parents before children. A table in which a
    row changes what makes it unique, or its parent, is written change by change
    instead: only that order is known to be legal.
    """
    by_table: dict[str, list[Change]] = {}
    for change in changes:
        by_table.setdefault(change.table, []).append(change)
    deletes: list[Step] = []
    ordered: list[Step] = []
    updates: list[Step] = []
    inserts: list[Step] = []
    for table in ROW_TYPES:
        if not (mine := by_table.get(table)):
            continue
        if _needs_order(mine):
            ordered.extend(_runs(table, mine))
            continue
        parts = _coalesced(table, mine)
        deletes.append(parts[0])
        updates.append(parts[1])
        is_name = ROW_TYPES[table] is rows.NameRow
        (ordered if is_name else inserts).append(parts[2])
    steps = [*reversed(deletes), *ordered, *updates, *inserts]
    return [step for step in steps if step.pairs]


def _needs_order(changes: list[Change]) -> bool:
    """Whether a row moves within a constraint, or a key is given anew."""
    is_link = isinstance(changes[0].new or changes[0].old, rows.LinkRow)
    gone: set[Key] = set()
    for change in changes:
        if change.new is None:
            gone.add(change.key)
        elif change.old is None:
            if change.key in gone and not is_link:
                return True
        elif _place(change.old) != _place(change.new):
            return True
    return False


def _place(row: Row) -> tuple[Any, ...]:
    """What unique and foreign keys know of a row, beside its own key."""
    if isinstance(row, rows.ConsumerRow):
        return (row.uuid,)
    if isinstance(row, rows.ProviderRow):
        return (row.uuid, row.name, row.root_provider_id, row.parent_provider_id)
    if isinstance(row, rows.InventoryRow):
        return (row.resource_provider_id, row.resource_class_id)
    if isinstance(row, rows.NameRow):
        return (row.name,)
    return tuple(getattr(row, name) for name in _UNIQUE.get(type(row), ()))


def _coalesced(table: str, changes: list[Change]) -> tuple[Step, Step, Step]:
    """Deletes, updates and inserts: first old and last new value of each row."""
    first: dict[Key, Row | None] = {}
    last: dict[Key, Row | None] = {}
    for change in changes:
        first.setdefault(change.key, change.old)
        # Children are deleted before parents, but made after them: so deletes go
        # by the order of last changes, and the others by that of first changes.
        last.pop(change.key, None)
        last[change.key] = change.new
    deletes = [(first[key], None) for key, new in last.items() if new is None]
    pairs = [(old, last[key]) for key, old in first.items() if last[key] is not None]
    return (
        Step(table, DELETE, [pair for pair in deletes if pair[0] is not None]),
        Step(table, UPDATE, [p for p in pairs if p[0] is not None and p[0] != p[1]]),
        Step(table, INSERT, [pair for pair in pairs if pair[0] is None]),
    )


def _runs(table: str, changes: list[Change]) -> list[Step]:
    """Every change by itself, neighbours with the same verb in one step."""
    steps: list[Step] = []
    for change in changes:
        if change.old is None and change.new is None:
            continue
        verb = INSERT if change.old is None else UPDATE if change.new else DELETE
        if not steps or steps[-1].verb != verb:
            steps.append(Step(table, verb, []))
        steps[-1].pairs.append((change.old, change.new))
    return steps


class _TableStatements:
    """INSERT, UPDATE and DELETE of one table, and how rows become parameters."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._table, self._columns = BOOKS[name], COLUMNS[name]
        keys = [c for c in self._columns if self._table.c[c].primary_key]
        where = [self._table.c[key] == _param(_OLD, key) for key in keys]
        if name in _GUARDED:
            known = func.coalesce(self._table.c.generation, literal_column("0"))
            where.append(known == _param(_OLD, "generation"))
        self._where = and_(*where)
        made = {column: _param(_NEW, column) for column in self._columns}
        self._insert = self._prepared(insert(self._table).values(made))
        self._delete = self._prepared(delete(self._table).where(self._where))
        self._updates: dict[tuple[str, ...], _Prepared] = {}
        self._blank = (None,) * len(self._columns)
        # Only tables with an ``id`` of their own have a sequence.
        self.has_sequence = keys == ["id"]

    def send(
        self, session: Session, step: Step, to_values: Callable[[Row], Any]
    ) -> int:
        """Carry out a step; how many rows were as they were known."""
        blank = self._blank
        if step.verb == INSERT:
            statement, picked = self._insert
            made = [picked((*blank, *to_values(new))) for _, new in step.pairs if new]
            return session.insert(statement, made)
        if step.verb == DELETE:
            statement, picked = self._delete
            gone = [picked((*to_values(old), *blank)) for old, _ in step.pairs if old]
            return session.execute_many(statement.text, gone)
        pairs = [
            (to_values(old), to_values(new)) for old, new in step.pairs if old and new
        ]
        statement, picked = self._update(pairs)
        values = [picked((*old, *new)) for old, new in pairs]
        return session.execute_many(statement.text, values)

    def _update(self, pairs: list[tuple[Any, Any]]) -> _Prepared:
        """The UPDATE that sets what differs in any of ``pairs`` and no more: a column
        that is not set costs no index its upkeep."""
        differing = tuple(
            column
            for place, column in enumerate(self._columns)
            if any(old[place] != new[place] for old, new in pairs)
        )
        if differing not in self._updates:
            sets = {column: _param(_NEW, column) for column in differing}
            self._updates[differing] = self._prepared(
                update(self._table).where(self._where).values(sets)
            )
        return self._updates[differing]

    def _prepared(self, query: ClauseElement) -> _Prepared:
        given = (
            *(_OLD + column for column in self._columns),
            *(_NEW + column for column in self._columns),
        )
        statement = self._database.compile(query)
        return statement, statement.picker(given)


def _param(side: str, column: str) -> BindParameter[Any]:
    return bindparam(side + column)


class Writer:
    """The statements of all tables of the books, compiled once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = {name: _TableStatements(database, name) for name in ROW_TYPES}
        providers = BOOKS[rows.PROVIDERS]
        # InnoDB keeps a row that is still referred to, be it by itself.
        self._uproot = database.compile(
            update(providers)
            .where(providers.c.id == bindparam(_OLD + "id"))
            .values(root_provider_id=null())
        ).text

    def write(self, session: Session, changes: Iterable[Change]) -> None:
        """Raises ForeignWrite when a row was not as the change says it was."""
        to_values = self._converter()
        for step in plan(changes):
            statements = self._tables[step.table]
            if step.table == rows.PROVIDERS and step.verb == DELETE:
                gone = [(key_of(old),) for old, _ in step.pairs if old]
                session.execute_many(self._uproot, gone)
            touched = statements.send(session, step, to_values)
            if touched != len(step.pairs):
                raise ForeignWrite(
                    f"{step.verb} of {len(step.pairs)} rows of {step.table} found "
                    f"{touched} as they were known."
                )
            if step.verb == INSERT and statements.has_sequence:
                self._advance(session, step)

    def _advance(self, session: Session, step: Step) -> None:
        """Tell the sequence of the table of the ids that were given without it."""
        if self._database.advance is not None:
            highest = max(
                new.id
                for _, new in step.pairs
                if new is not None and not isinstance(new, rows.LinkRow)
            )
            session.execute(self._database.advance, (highest, step.table))

    def _converter(self) -> Callable[[Row], tuple[Any, ...]]:
        """Row to values; a batch has few different times, so each is made once."""
        to_time = self._database.to_time
        times: dict[int | None, Any] = {}

        def moment(micros: int | None) -> Any:
            if micros not in times:
                times[micros] = to_time(micros)
            return times[micros]

        def to_values(row: Row) -> tuple[Any, ...]:
            *values, created, updated = astuple(row)
            return (*values, moment(created), moment(updated))

        return to_values
