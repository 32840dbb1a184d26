"""Tables of records: the latest decisions and shadow records of all processes.

Apart from the books: no head lock is taken for them and the log does not contain them.
Rows are found by scanning the short columns of a table, newest first: it is short, and
indexes would cost every decision more than they save the few lookups. Records are read
by key, for one page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    BindParameter,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql.elements import ColumnElement

from gantt.model.paging import PAGE
from gantt.model.selection import Asked as DecisionQuery
from gantt.model.shadow import ShadowQuery
from gantt.store.background.beside_books import BesideBooks
from gantt.store.database import Statement, limited
from gantt.store.interface import (
    ADVICE,
    ADVISING,
    DECISIONS,
    RECORD_INSTANCES,
    SHADOWS,
    RecordPage,
    ShadowRow,
    SharedDecision,
    Trimmed,
)
from gantt.store.session import Session
from gantt.store.tables import gantt_decisions, gantt_shadow

R = TypeVar("R", bound=Struct)
Question = DecisionQuery | ShadowQuery
_LONGEST: Final = 255
# Rows that are dropped at once: a committer of SQLite waits meanwhile.
_STEP: Final = 500
_IDS: Final = tuple(f"id{number}" for number in range(PAGE))
# Fields of a question that a column, or one among the names in it, must equal.
_EQUAL: Final = ("request_id", "project_id", "instance_uuid", "verdict")
_OF_ADVICE: Final = gantt_decisions.c.process.like(bindparam("advising"))
_LIKE_ADVICE: Final = f"%{ADVISING}"


class RecordTableShape(Struct, Generic[R], frozen=True):
    """How tables of records differ. ``place``: the columns that order rows. ``sizes``:
    of how many instances each record is. ``trimmed``: those that are limited together;
    all, without it."""

    table: Table
    row: type[R]
    what: str
    place: tuple[str, ...]
    sizes: ColumnElement[int] = literal_column("1")
    trimmed: tuple[ColumnElement[bool], ...] = ()


_DECISIONS: Final = RecordTableShape(
    gantt_decisions,
    SharedDecision,
    "a record of a decision",
    ("at", "number", "process"),
    gantt_decisions.c.instances,
    (~_OF_ADVICE,),
)
SHAPES: Final[dict[str, RecordTableShape[Any]]] = {
    DECISIONS.name: _DECISIONS,
    ADVICE.name: replace(_DECISIONS, trimmed=(_OF_ADVICE,)),
    SHADOWS.name: RecordTableShape(
        gantt_shadow, ShadowRow, "a shadow record", ("at", "id")
    ),
}


class RecordTable(Generic[R]):
    """Implements SideTable; a question is a DecisionQuery or a ShadowQuery."""

    def __init__(self, beside: BesideBooks, shape: RecordTableShape[R]) -> None:
        self._beside, self._shape = beside, shape
        self._read, self._read_list = beside.readers.read, beside.readers.lists.read
        self._fields = shape.row.__struct_fields__
        database, table = beside.database, shape.table
        self._insert = database.bulk.insert(table, self._fields, at_once=True)
        sizes = select(table.c.id, shape.sizes).where(*shape.trimmed)
        newest = sizes.order_by(table.c.id.desc())
        self._sizes = database.compile(limited(newest, "most"))
        ids: list[BindParameter[int]] = [bindparam(name) for name in _IDS]
        columns = (table.c[name] for name in self._fields)
        by_id = select(table.c.id, *columns).where(table.c.id.in_(ids))
        self._by_id = database.compile(by_id)
        self._first = database.compile(select(func.min(table.c.id))).text
        drop = delete(table).where(table.c.id <= bindparam("bound"), *shape.trimmed)
        self._drop = database.compile(drop)

    def append(self, rows: Sequence[R]) -> int:
        names = self._fields
        values = [tuple(_stored(n, getattr(row, n)) for n in names) for row in rows]
        return self._beside.add(self._insert, values, self._shape.what)

    def page(self, asked: Question) -> RecordPage[R]:
        places = self._read_list(partial(_all, *self._places(asked)))
        most = max(0, asked.limit)
        few = places[:most]
        few = few[: _fitting(few, most)] if few else few
        found = self._records([row[0] for row in few])
        rows = {}
        for one in (found[row[0]] for row in few if row[0] in found):
            place = tuple(one[name] for name in self._shape.place)
            rows[place] = self._shape.row(*(one[name] for name in self._fields))
        return RecordPage(rows, len(few) == len(places))

    def _records(self, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Rows by their ids, as the values of columns."""
        found = {}
        for start in range(0, len(ids), PAGE):
            some = ids[start : start + PAGE]
            last = len(some) - 1
            numbered = {name: some[min(n, last)] for n, name in enumerate(_IDS)}
            rows = self._read_list(partial(_all, self._by_id, numbered))
            for row in rows:
                found[row[0]] = dict(zip(("id", *self._fields), row, strict=True))
        return found

    def _places(self, asked: Question) -> tuple[Statement, dict[str, Any]]:
        """The query for (id, instances) of rows that may match, one more than is asked
        for, and its values."""
        columns = self._shape.table.c
        query = select(columns.id, self._shape.sizes)
        values: dict[str, Any] = {"most": max(0, asked.limit) + 1}
        for name in _EQUAL:
            wanted = getattr(asked, name, None)
            if wanted is None:
                continue
            if name in columns:
                query = query.where(columns[name] == bindparam(name))
                values[name] = _stored(name, wanted)
            else:  # each of ``instance_uuids`` is between commas
                pattern: BindParameter[str] = bindparam(name)
                query = query.where(columns.instance_uuids.like(pattern, escape="/"))
                literal = re.sub("[/%_]", r"/\g<0>", _clean(wanted))
                values[name] = f"%,{literal},%"
        since, until = getattr(asked, "since", None), getattr(asked, "until", None)
        if since is not None:
            query = query.where(columns.at >= bindparam("since"))
        if until is not None:
            query = query.where(columns.at < bindparam("until"))
        values |= {"since": since, "until": until}
        if asked.after is not None:
            query = query.where(_precedes(columns, self._shape.place))
            at, number, *process = asked.after
            values |= {"at": at, "before": at, "below": number, "number": number}
            values["process"] = _stored("process", "".join(process))
        order = (columns[name].desc() for name in self._shape.place)
        query = limited(query.order_by(*order), "most")
        return self._beside.database.compile(query), values

    def trim(self, drop: int) -> Trimmed:
        given = {"advising": _LIKE_ADVICE, "most": drop + 1}
        sizes = self._read(partial(_all, self._sizes, given))
        left = _fitting(sizes, drop)
        if left == len(sizes):
            return Trimmed(0, left)
        bound = sizes[left][0]
        first = self._read(lambda session: session.one(self._first))[0]
        ends = (min(n + _STEP - 1, bound) for n in range(first, bound + 1, _STEP))
        return Trimmed(sum(map(self._drop_to, ends)), left)

    def _drop_to(self, bound: int) -> int:
        drop = self._drop
        given = [tuple(drop.values(advising=_LIKE_ADVICE, bound=bound))]
        return self._beside.run(lambda session: session.execute_many(drop.text, given))


def _all(
    statement: Statement, values: Mapping[str, Any], session: Session
) -> list[Any]:
    return session.all(statement.text, statement.values(**values))


def _precedes(columns: Any, place: Sequence[str]) -> ColumnElement[bool]:
    """The rows that come after a place, as lists are ordered; those of processes are
    told apart by the reader, who compares names as Python does."""
    number = columns[place[1]]
    is_before = number < bindparam("below")
    if "process" in place:
        is_other = columns.process != bindparam("process")
        is_before |= (number == bindparam("number")) & is_other
    is_same = (columns.at == bindparam("at")) & is_before
    found: ColumnElement[bool] = (columns.at < bindparam("before")) | is_same
    return found


def _stored(name: str, value: Any) -> Any:
    """``value`` as its column holds it; the record has it unchanged."""
    if not isinstance(value, str):
        return value
    return _clean(value) if name == "instance_uuids" else _clean(value)[:_LONGEST]


def _clean(text: str) -> str:
    """``text`` without what some database cannot hold."""
    if text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _fitting(sizes: Sequence[tuple[int, int]], keep: int) -> int:
    """How many of the rows may stay: (id, instances), the newest first."""
    total = accumulate(max(size, RECORD_INSTANCES) for _, size in sizes)
    fitting = sum(size <= keep * RECORD_INSTANCES for size in total)
    return min(max(fitting, 1), len(sizes))
