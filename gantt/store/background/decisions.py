"""The table ``gantt_decisions``, in which processes find each other's decisions.

Apart from the books: no head lock is taken for it and the log does not contain it. Rows
are found by scanning the short columns of the table, newest first: it is short, and
indexes would cost every decision more than they save the few lookups. Records are read
by key, for one page.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    Select,
    bindparam,
    delete,
    func,
    select,
)

from gantt.model.paging import PAGE
from gantt.model.selection import Asked
from gantt.store.background.beside_books import BesideBooks
from gantt.store.database import Database, Statement, limited
from gantt.store.interface import (
    ADVICE,
    DECISION_INSTANCES,
    SharedDecision,
    SharedPage,
    Trimmed,
)
from gantt.store.session import Counter, Readers
from gantt.store.tables import gantt_decisions

_FIELDS: Final = SharedDecision.__struct_fields__
_LONGEST: Final = 255
# Rows that are dropped at once: a committer of SQLite waits meanwhile.
_STEP: Final = 500
_OF_ADVICE: Final = f"%{ADVICE}"
_IDS: Final = tuple(f"id{number}" for number in range(PAGE))


class DecisionTable:
    """Implements SharedDecisions. ``committer``: the lock of this process's
    committer."""

    def __init__(
        self,
        database: Database,
        readers: Readers,
        counter: Counter,
        committer: threading.Lock,
    ) -> None:
        self._database = database
        self._readers, self._lists = readers, readers.lists
        self._writer = BesideBooks(database, readers, counter, committer)
        self._insert = database.bulk.insert(gantt_decisions, _FIELDS, at_once=True)
        table = gantt_decisions.c
        kinds = {True: table.process.like(bindparam("kind"))}
        kinds[False] = ~kinds[True]
        self._sizes = {
            kind: self._newest(select(table.id, table.instances).where(where))
            for kind, where in kinds.items()
        }
        ids: list[BindParameter[int]] = [bindparam(name) for name in _IDS]
        self._by_id = database.compile(
            select(table.id, *(table[name] for name in _FIELDS)).where(
                table.id.in_(ids)
            )
        )
        self._first = database.compile(select(func.min(table.id))).text
        self._drops = {
            kind: database.compile(
                delete(gantt_decisions).where(table.id <= bindparam("bound"), where)
            )
            for kind, where in kinds.items()
        }

    def _newest(self, query: Select[Any]) -> Statement:
        """The first ``most`` rows of ``query``, the latest first."""
        ordered = query.order_by(gantt_decisions.c.id.desc())
        return self._database.compile(limited(ordered, "most"))

    def add(self, rows: Sequence[SharedDecision]) -> int:
        values = [_values(one) for one in rows]
        return self._writer.add(self._insert, values, "a record of a decision")

    def find(self, asked: Asked) -> SharedPage:
        places = self._lists.read(lambda session: session.all(*self._places(asked)))
        most = min(max(0, asked.limit), PAGE)
        few = places[:most]
        few = few[: _fitting(few, most)] if few else few
        is_whole = len(few) == len(places)
        if not few:
            return SharedPage((), is_whole)
        ids = [row[0] for row in few]
        given = self._by_id.values(
            **{name: ids[min(n, len(ids) - 1)] for n, name in enumerate(_IDS)}
        )
        rows = self._lists.read(lambda session: session.all(self._by_id.text, given))
        found = {row[0]: SharedDecision(*row[1:]) for row in rows}
        return SharedPage([found[one] for one in ids if one in found], is_whole)

    def _places(self, asked: Asked) -> tuple[str, Any]:
        """The query for (id, instances) of rows that may match, one more than is asked
        for, and its values."""
        table = gantt_decisions.c
        query = select(table.id, table.instances)
        values: dict[str, str | int] = {"most": max(0, asked.limit) + 1}
        if asked.after is not None:
            at, number, process = asked.after
            is_before = (table.number < bindparam("below")) | (
                (table.number == bindparam("number"))
                & (table.process != bindparam("process"))
            )
            is_same = (table.at == bindparam("at")) & is_before
            query = query.where((table.at < bindparam("before")) | is_same)
            values |= {"at": at, "before": at, "below": number, "number": number}
            values["process"] = storable(process)
        if asked.request_id is not None:
            query = query.where(table.request_id == bindparam("request_id"))
            values["request_id"] = storable(asked.request_id)
        if asked.project_id is not None:
            query = query.where(table.project_id == bindparam("project_id"))
            values["project_id"] = storable(asked.project_id)
        if asked.instance_uuid is not None:
            pattern: BindParameter[str] = bindparam("instance_uuid")
            query = query.where(table.instance_uuids.like(pattern, escape="/"))
            literal = re.sub("[/%_]", r"/\g<0>", _clean(asked.instance_uuid))
            values["instance_uuid"] = f"%,{literal},%"
        order = (table.at.desc(), table.number.desc(), table.process.desc())
        wanted = self._database.compile(limited(query.order_by(*order), "most"))
        return wanted.text, wanted.values(**values)

    def trim(self, keep: int, *, of_advice: bool = False) -> Trimmed:
        read, query = self._readers.read, self._sizes[of_advice]
        given = query.values(kind=_OF_ADVICE, most=keep + 1)
        sizes = read(lambda session: session.all(query.text, given))
        left = _fitting(sizes, keep)
        if left == len(sizes):
            return Trimmed(0, left)
        bound = sizes[left][0]
        dropped, first = 0, read(lambda session: session.one(self._first))[0]
        for start in range(first, bound + 1, _STEP):
            end = min(start + _STEP - 1, bound)
            dropped += self._drop_to(end, of_advice=of_advice)
        return Trimmed(dropped, left)

    def _drop_to(self, bound: int, *, of_advice: bool) -> int:
        drop = self._drops[of_advice]
        given = [tuple(drop.values(kind=_OF_ADVICE, bound=bound))]
        return self._writer.run(lambda session: session.execute_many(drop.text, given))


def _values(row: SharedDecision) -> tuple[Any, ...]:
    return (
        storable(row.process),
        row.number,
        row.at,
        storable(row.request_id),
        None if row.project_id is None else storable(row.project_id),
        row.is_refused,
        row.instances,
        _clean(row.instance_uuids),
        row.record,
    )


def storable(text: str) -> str:
    """``text`` as a column of names holds it; the record has it unchanged."""
    return _clean(text)[:_LONGEST]


def _clean(text: str) -> str:
    """``text`` without what some database cannot hold; the record has it unchanged."""
    if text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _fitting(sizes: Sequence[tuple[int, int]], keep: int) -> int:
    """How many of the rows may stay: (id, instances), the newest first."""
    total = accumulate(max(size, DECISION_INSTANCES) for _, size in sizes)
    fitting = sum(size <= keep * DECISION_INSTANCES for size in total)
    return min(max(fitting, 1), len(sizes))
