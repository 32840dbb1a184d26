"""Writes the rows of a batch of changes in a constant number of statements.

Apart from the log because of all changes to one row in a batch only the first old and
the last new value matter here. ``plan`` decides that without SQL; ``Writer`` sends it,
and compares what the database had with what was known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import String, Table

from gantt.model import rows
from gantt.model.changes import Change
from gantt.model.rows import ROW_TYPES, Key, Row, key_of
from gantt.store.database import Bulk, Database
from gantt.store.interface import Precondition
from gantt.store.outcomes import ForeignWrite
from gantt.store.session import Answer, Session
from gantt.store.tables import BOOKS, COLUMNS

INSERT, UPDATE, DELETE = "insert", "update", "delete"

# Sequences are advanced so far ahead that most batches need not do it again.
_AHEAD = 1000
_HIGHEST = 2**31 - 1
# What must be as known when a row is changed, beside its key: generations, what
# Placement changes without incrementing one, and what distinguishes rows where a
# database reuses ids (SQLite does).
_KNOWN: dict[str, tuple[str, ...]] = {
    rows.PROVIDERS: (
        *("generation", "uuid", "name"),
        *("root_provider_id", "parent_provider_id"),
    ),
    rows.CONSUMERS: (
        *("generation", "uuid"),
        *("project_id", "user_id", "consumer_type_id"),
    ),
    rows.ALLOCATIONS: ("consumer_id", "resource_provider_id", "resource_class_id"),
    **{
        name: (COLUMNS[name][1],)
        for name, row_type in ROW_TYPES.items()
        if row_type is rows.NameRow
    },
}
# Not compared when a row is deleted: its root was set to itself before (``uproot``),
# and the owner of a consumer no longer matters.
_UNASKED: dict[str, frozenset[str]] = {
    rows.PROVIDERS: frozenset({"root_provider_id"}),
    rows.CONSUMERS: frozenset({"project_id", "user_id", "consumer_type_id"}),
}
# What is unique in the tables of the fleet.
_UNIQUE: dict[type[Row], tuple[str, ...]] = {
    rows.HostRow: ("host", "node"),
    rows.ServiceRow: ("host", "binary"),
    rows.HostAggregateRow: ("uuid",),
    rows.InstanceRow: ("uuid",),
    rows.ServerGroupRow: ("uuid",),
    rows.ClaimRow: ("instance_uuid",),
}


Picker: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]
ToValues: TypeAlias = Callable[[Row], tuple[Any, ...]]


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
    """Whether a row moves within a constraint, or a key is reused."""
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
    """What unique and foreign keys contain of a row, beside its own key."""
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
        # Children are deleted before parents, but inserted after them: so deletes go
        # in the order of last changes, and the others in that of first changes.
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
    """Every change by itself, except for adjacent inserts: within one statement there
    is no order, and no row is updated twice."""
    steps: list[Step] = []
    for change in changes:
        if change.old == change.new:
            continue  # never existed, or only the time changed, within a second
        verb = INSERT if change.old is None else UPDATE if change.new else DELETE
        if not steps or steps[-1].verb != verb or verb != INSERT:
            steps.append(Step(table, verb, []))
        steps[-1].pairs.append((change.old, change.new))
    return steps


class _TableStatements:
    """INSERT, UPDATE and DELETE of one table, and how rows become parameters."""

    def __init__(self, database: Database, name: str) -> None:
        self._bulk = database.bulk
        self._table, self._columns = BOOKS[name], COLUMNS[name]
        keys = [c for c in self._columns if self._table.c[c].primary_key]
        self._found = [*keys, *_KNOWN.get(name, ())]
        self._known = _comparable(self._table, self._columns, self._found)
        unasked = _UNASKED.get(name, frozenset())
        last = [column for column in self._found if column not in unasked]
        self._last_known = _comparable(self._table, self._columns, last)
        self._insert = self._bulk.insert(self._table, self._columns)
        self._delete = self._bulk.delete(self._table, last)
        self._updates: dict[tuple[int, ...], tuple[Bulk, Picker]] = {}
        # Only tables with an ``id`` of their own have a sequence.
        self.has_sequence = keys == ["id"]

    def send(self, session: Session, step: Step, to_values: ToValues) -> Answer:
        """Carry out a step; how many rows were as they were known."""
        if step.verb == INSERT:
            made = [to_values(new) for _, new in step.pairs if new]
            return session.send_rows(self._insert, made)
        if step.verb == DELETE:
            gone = [self._last_known(to_values(old)) for old, _ in step.pairs if old]
            return session.send_rows(self._delete, gone)
        pairs = [
            (to_values(old), to_values(new)) for old, new in step.pairs if old and new
        ]
        statement, picked = self._update(pairs)
        values = [(*picked(new), *self._known(old)) for old, new in pairs]
        return session.send_rows(statement, values)

    def _update(self, pairs: list[tuple[Any, Any]]) -> tuple[Bulk, Picker]:
        """The UPDATE that sets only what differs in any of ``pairs``: a column that is
        not set costs no index update."""
        places = tuple(
            place
            for place in range(len(self._columns))
            if any(old[place] != new[place] for old, new in pairs)
        )
        if places not in self._updates:
            columns = [self._columns[place] for place in places]
            statement = self._bulk.update(self._table, columns, self._found)
            self._updates[places] = (statement, _picker(places))
        return self._updates[places]


def _picker(places: Sequence[int]) -> Picker:
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return itemgetter(*places)


def _comparable(table: Table, columns: Sequence[str], names: Sequence[str]) -> Picker:
    """The values of ``names``, with what stands for NULL in comparisons."""
    pick = _picker([columns.index(name) for name in names])
    if not any(table.c[name].nullable for name in names):
        return pick
    empty = ["" if isinstance(table.c[name].type, String) else 0 for name in names]
    return lambda values: tuple(
        nothing if value is None else value
        for value, nothing in zip(pick(values), empty, strict=True)
    )


class Writer:
    """The statements of all tables of the books, made once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = {name: _TableStatements(database, name) for name in ROW_TYPES}
        # InnoDB does not delete a row that is referred to, even by itself.
        self._uproot = database.bulk.update(
            BOOKS[rows.PROVIDERS], ["root_provider_id"], ["id"]
        )
        self._selects: dict[tuple[str, ...], Bulk] = {}

    def send(
        self, session: Session, changes: Iterable[Change]
    ) -> list[tuple[Step, Answer]]:
        """Send all that carries out ``changes``; ``check`` the answers afterwards."""
        to_values = self._converter()
        sent = []
        for step in plan(changes):
            statements = self._tables[step.table]
            if step.table == rows.PROVIDERS and step.verb == DELETE:
                gone = [(None, key_of(old)) for old, _ in step.pairs if old]
                session.send_rows(self._uproot, gone)
            sent.append((step, statements.send(session, step, to_values)))
            if step.verb == INSERT and statements.has_sequence:
                self._advance(session, step)
        return sent

    def ask(
        self, session: Session, preconditions: Iterable[Precondition]
    ) -> list[tuple[Precondition, Answer]]:
        """Select the rows of ``preconditions``; ``check_preconditions`` afterwards."""
        return [
            (one, session.send_rows(self._select(one), [(key,) for key in one.keys]))
            for one in preconditions
        ]

    def _select(self, precondition: Precondition) -> Bulk:
        wanted = (precondition.table, precondition.by, *precondition.columns)
        if wanted not in self._selects:
            self._selects[wanted] = self._database.bulk.select(
                BOOKS[precondition.table], precondition.columns, precondition.by
            )
        return self._selects[wanted]

    def _advance(self, session: Session, step: Step) -> None:
        """Advance the sequence of the table past ids that were given without it."""
        if self._database.advance is None:
            return
        highest = max(
            new.id
            for _, new in step.pairs
            if new is not None and not isinstance(new, rows.LinkRow)
        )
        # A sequence is not rolled back, so the value holds as long as the connection.
        if highest > session.advanced.get(step.table, -1):
            value = max(highest, min(highest + _AHEAD, _HIGHEST))
            session.send(self._database.advance, (value, step.table))
            session.advanced[step.table] = value

    def _converter(self) -> ToValues:
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


def check(sent: list[tuple[Step, Answer]]) -> None:
    """Raises ForeignWrite if a row was not as the change says."""
    for step, answer in sent:
        if (touched := answer.count) != len(step.pairs):
            raise ForeignWrite(
                f"{step.verb} of {len(step.pairs)} rows of {step.table} found "
                f"{touched} as they were known."
            )


def check_preconditions(asked: list[tuple[Precondition, Answer]]) -> None:
    """Raises ForeignWrite if the rows are not exactly those of a precondition."""
    for precondition, answer in asked:
        found = frozenset(tuple(row) for row in answer.rows)
        if strange := found ^ precondition.rows:
            keys = ", ".join(map(str, precondition.keys[:8]))
            raise ForeignWrite(
                f"{len(strange)} rows of {precondition.table} with {precondition.by} "
                f"among {keys} are not as they were known."
            )
