"""Writes the rows of a batch of changes in a constant number of statements.

Apart from the log because of all changes to one row in a batch only the first old and
the last new value matter here. ``plan`` decides that without SQL; ``Writer`` sends it,
and compares what the database had with what was known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from operator import attrgetter, itemgetter, ne, or_
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import String

from gantt.model import rows
from gantt.model.changes import Change
from gantt.model.rows import ROW_TYPES, Key, Row, key_of
from gantt.store.database import Bulk, Database
from gantt.store.interface import Precondition
from gantt.store.outcomes import ForeignWrite
from gantt.store.session import Session, StatementResult
from gantt.store.tables import BOOKS, COLUMNS, TIMES_AT

INSERT, UPDATE, DELETE = "insert", "update", "delete"

# Sequences are advanced so far ahead that most batches need not do it again.
_AHEAD = 1000
_HIGHEST = 2**31 - 1
# What must be as known when a row is changed, beside its key: generations, what
# Placement changes without incrementing one, and what distinguishes rows where a
# database reuses ids (SQLite does).
_KNOWN: dict[str, tuple[str, ...]] = {
    rows.PROVIDERS: (
        "generation",
        "uuid",
        "name",
        "root_provider_id",
        "parent_provider_id",
    ),
    rows.CONSUMERS: (
        "generation",
        "uuid",
        "project_id",
        "user_id",
        "consumer_type_id",
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
# What unique and foreign keys contain of a row, beside its own key.
_CONSTRAINED: dict[str, Callable[[Row], object]] = {
    rows.PROVIDERS: attrgetter(
        "uuid", "name", "root_provider_id", "parent_provider_id"
    ),
    rows.CONSUMERS: attrgetter("uuid"),
    rows.INVENTORIES: attrgetter("resource_provider_id", "resource_class_id"),
    rows.HOSTS: attrgetter("host", "node"),
    rows.SERVICES: attrgetter("host", "binary"),
    rows.FACTS: attrgetter("kind", "subject"),
    rows.HOST_AGGREGATES: attrgetter("uuid"),
    rows.INSTANCES: attrgetter("uuid"),
    rows.SERVER_GROUPS: attrgetter("uuid"),
    rows.BOOKINGS: attrgetter("instance_uuid", "item", "role"),
    **{
        name: attrgetter("name")
        for name, row_type in ROW_TYPES.items()
        if row_type is rows.NameRow
    },
}
_MOMENTS = 1_000

Picker: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]
ToTime: TypeAlias = Callable[[int | None], Any]
Pair: TypeAlias = tuple[Row | None, Row | None]


class WriteStatement(Struct, frozen=True):
    """One statement for all of ``pairs``: (old, new) of rows of one table."""

    table: str
    verb: str
    pairs: list[Pair]


def plan(changes: Iterable[Change]) -> list[WriteStatement]:
    """The statements for a batch, in an order that every constraint allows.

    Deletes go first, children before parents, then new names, which an update may
    refer to, then updates, then inserts, parents before children. A table in which a
    row changes what makes it unique, or its parent, is written change by change
    instead: only that order is known to be legal.
    """
    by_table: dict[str, list[Change]] = {}
    for change in changes:
        by_table.setdefault(change.table, []).append(change)
    deletes: list[WriteStatement] = []
    ordered: list[WriteStatement] = []
    updates: list[WriteStatement] = []
    inserts: list[WriteStatement] = []
    for table in ROW_TYPES:
        if not (mine := by_table.get(table)):
            continue
        parts = _coalesced(table, mine)
        if parts is None:
            ordered.extend(_runs(table, mine))
            continue
        deletes.append(parts[0])
        updates.append(parts[1])
        is_name = ROW_TYPES[table] is rows.NameRow
        (ordered if is_name else inserts).append(parts[2])
    steps: list[WriteStatement] = []
    for step in (*reversed(deletes), *ordered, *updates, *inserts):
        if step.pairs:
            steps.append(step)
    return steps


def _coalesced(
    table: str, changes: list[Change]
) -> tuple[WriteStatement, WriteStatement, WriteStatement] | None:
    """Deletes, updates and inserts: first old and last new value of each row. None if
    a row moves within a constraint, or a key is reused: then order matters."""
    constrained = _CONSTRAINED.get(table)
    is_link = ROW_TYPES[table] is rows.LinkRow
    first: dict[Key, Row | None] = {}
    last: dict[Key, Row | None] = {}
    for change in changes:
        key, old, new = change.key, change.old, change.new
        if new is not None:
            if old is None:
                if key in last and not is_link:
                    return None
            elif constrained is not None and constrained(old) != constrained(new):
                return None
        first.setdefault(key, old)
        # Children are deleted before parents, but inserted after them: so deletes go
        # in the order of last changes, and the others in that of first changes.
        last.pop(key, None)
        last[key] = new
    deletes, updates = (
        WriteStatement(table, DELETE, []),
        WriteStatement(table, UPDATE, []),
    )
    inserts = WriteStatement(table, INSERT, [])
    for key, new in last.items():
        if new is None and first[key] is not None:
            deletes.pairs.append((first[key], None))
    for key, old in first.items():
        new = last[key]
        if old is None and new is not None:
            inserts.pairs.append((None, new))
        elif new is not None and old != new:
            updates.pairs.append((old, new))
    return deletes, updates, inserts


def _runs(table: str, changes: list[Change]) -> list[WriteStatement]:
    """Every change by itself, except for adjacent inserts: within one statement there
    is no order, and no row is updated twice."""
    steps: list[WriteStatement] = []
    for change in changes:
        if change.old == change.new:
            continue  # never existed, or only the time changed, within a second
        verb = INSERT if change.old is None else UPDATE if change.new else DELETE
        if not steps or steps[-1].verb != verb or verb != INSERT:
            steps.append(WriteStatement(table, verb, []))
        steps[-1].pairs.append((change.old, change.new))
    return steps


class _TableStatements:
    """INSERT, UPDATE and DELETE of one table, and how rows become parameters."""

    def __init__(self, database: Database, name: str, to_time: ToTime) -> None:
        self._bulk, self._to_time = database.bulk, to_time
        self._table, self._columns = BOOKS[name], COLUMNS[name]
        self._times_at = TIMES_AT[name]
        keys = [c for c in self._columns if self._table.c[c].primary_key]
        self._found = [*keys, *_KNOWN.get(name, ())]
        unasked = _UNASKED.get(name, frozenset())
        last = [column for column in self._found if column not in unasked]
        self._pick, self._nothing = self._known(self._found)
        self._pick_last, self._nothing_last = self._known(last)
        self._insert = self._bulk.insert(self._table, self._columns)
        self._delete = self._bulk.delete(self._table, last)
        # By whether each column differs.
        self._updates: dict[tuple[bool, ...], Bulk] = {}
        # Only tables with an ``id`` of their own have a sequence.
        self.has_sequence = keys == ["id"]

    def _known(self, names: Sequence[str]) -> tuple[Picker, tuple[object, ...]]:
        """How to pick the values of ``names``, and what stands for NULL in them."""
        columns = [self._table.c[name] for name in names]
        nothing = tuple("" if isinstance(c.type, String) else 0 for c in columns)
        places = [self._columns.index(name) for name in names]
        if len(places) == 1:  # a tuple in any case
            return itemgetter(slice(places[0], places[0] + 1)), nothing
        return itemgetter(*places), nothing

    def send(self, session: Session, step: WriteStatement) -> StatementResult:
        """Carry out a step; how many rows were as they were known."""
        if step.verb == UPDATE:
            return self._update(session, step.pairs)
        values: list[tuple[Any, ...]] = []
        for old, new in step.pairs:
            if old is not None:
                known = self._pick_last(astuple(old))
                if None in known:
                    known = _without_null(known, self._nothing_last)
                values.append(known)
            elif new is not None:
                row, at, to_time = astuple(new), self._times_at, self._to_time
                moments = to_time(row[at]), to_time(row[at + 1])
                values.append((*row[:at], *moments, *row[at + 2 :]))
        bulk = self._insert if step.verb == INSERT else self._delete
        return session.send_rows(bulk, values)

    def _update(self, session: Session, pairs: list[Pair]) -> StatementResult:
        """Set only what differs in any of ``pairs``: a column that is not set costs no
        index update."""
        both: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        differs = (False,) * len(self._columns)
        for old, new in pairs:
            if old is not None and new is not None:
                both.append((astuple(old), astuple(new)))
                differs = tuple(map(or_, differs, map(ne, *both[-1])))
        if differs not in self._updates:
            columns = list(compress(self._columns, differs))
            statement = self._bulk.update(self._table, columns, self._found)
            self._updates[differs] = statement
        values: list[tuple[Any, ...]] = []
        for was, becomes in both:
            known = self._pick(was)
            if None in known:
                known = _without_null(known, self._nothing)
            at, to_time = self._times_at, self._to_time
            moments = to_time(becomes[at]), to_time(becomes[at + 1])
            mine = (*becomes[:at], *moments, *becomes[at + 2 :])
            values.append((*compress(mine, differs), *known))
        return session.send_rows(self._updates[differs], values)


def _without_null(
    values: tuple[Any, ...], nothing: tuple[object, ...]
) -> tuple[Any, ...]:
    """``values``, with what stands for NULL in comparisons."""
    found: list[Any] = []
    for value, instead in zip(values, nothing, strict=True):
        found.append(instead if value is None else value)
    return tuple(found)


class Writer:
    """The statements of all tables of the books, made once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # A batch has few different times.
        to_time = lru_cache(_MOMENTS)(database.to_time)
        self._tables = {
            name: _TableStatements(database, name, to_time) for name in ROW_TYPES
        }
        # InnoDB does not delete a row that is referred to, even by itself.
        self._uproot = database.bulk.update(
            BOOKS[rows.PROVIDERS], ["root_provider_id"], ["id"]
        )
        self._selects: dict[tuple[str, ...], Bulk] = {}

    def send(
        self, session: Session, changes: Iterable[Change]
    ) -> list[tuple[WriteStatement, StatementResult]]:
        """Send all that carries out ``changes``; ``check`` the answers afterwards."""
        sent = []
        advance = self._database.advance
        for step in plan(changes):
            statements = self._tables[step.table]
            if step.table == rows.PROVIDERS and step.verb == DELETE:
                gone = [(None, key_of(old)) for old, _ in step.pairs if old]
                session.send_rows(self._uproot, gone)
            sent.append((step, statements.send(session, step)))
            if advance and step.verb == INSERT and statements.has_sequence:
                self._advance(session, step, advance)
        return sent

    def ask(
        self, session: Session, preconditions: Iterable[Precondition]
    ) -> list[tuple[Precondition, StatementResult]]:
        """Select the rows of ``preconditions``; ``check_preconditions`` afterwards."""
        asked = []
        for one in preconditions:
            keys = list(zip(one.keys, strict=True))
            asked.append((one, session.send_rows(self._select(one), keys)))
        return asked

    def _select(self, precondition: Precondition) -> Bulk:
        wanted = (precondition.table, precondition.by, *precondition.columns)
        if wanted not in self._selects:
            self._selects[wanted] = self._database.bulk.select(
                BOOKS[precondition.table], precondition.columns, precondition.by
            )
        return self._selects[wanted]

    def _advance(self, session: Session, step: WriteStatement, advance: str) -> None:
        """Advance the sequence of the table past ids that were given without it."""
        highest = max(
            new.id
            for _, new in step.pairs
            if new is not None and not isinstance(new, rows.LinkRow)
        )
        # A sequence is not rolled back, so the value holds as long as the connection.
        if highest > session.advanced.get(step.table, -1):
            value = max(highest, min(highest + _AHEAD, _HIGHEST))
            session.send(advance, (value, step.table))
            session.advanced[step.table] = value


def check(sent: list[tuple[WriteStatement, StatementResult]]) -> None:
    """Raises ForeignWrite if a row was not as the change says."""
    for step, answer in sent:
        if (touched := answer.count) != len(step.pairs):
            raise ForeignWrite(
                f"{step.verb} of {len(step.pairs)} rows of {step.table} found "
                f"{touched} as they were known."
            )


def check_preconditions(asked: list[tuple[Precondition, StatementResult]]) -> None:
    """Raises ForeignWrite if the rows are not exactly those of a precondition."""
    for precondition, answer in asked:
        found = frozenset(map(tuple, answer.rows))
        if strange := found ^ precondition.rows:
            keys = ", ".join(map(str, precondition.keys[:8]))
            raise ForeignWrite(
                f"{len(strange)} rows of {precondition.table} with {precondition.by} "
                f"among {keys} are not as they were known."
            )
