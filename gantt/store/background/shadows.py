"""The table ``gantt_shadow``: the latest shadow records of all processes.

Apart from the books, like ``decisions``; it is scanned, and short.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import bindparam, delete, select

from gantt.model.shadow import ShadowPlace, ShadowQuery
from gantt.store.background.beside_books import BesideBooks
from gantt.store.background.decisions import storable
from gantt.store.database import Database, limited
from gantt.store.interface import ShadowRow
from gantt.store.session import Counter, Readers
from gantt.store.tables import gantt_shadow

_FIELDS: Final = ShadowRow.__struct_fields__


class ShadowTable:
    """Implements ShadowRows. ``committer``: the lock of this process's committer."""

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
        self._insert = database.bulk.insert(gantt_shadow, _FIELDS, at_once=True)
        table = gantt_shadow.c
        newest = select(table.id).order_by(table.id.desc())
        self._ids = database.compile(limited(newest, "most")).text
        self._drop = database.compile(
            delete(gantt_shadow).where(table.id <= bindparam("bound"))
        ).text

    def add(self, rows: Sequence[ShadowRow]) -> int:
        values = [_values(one) for one in rows]
        return self._writer.add(self._insert, values, "a shadow record")

    def find(self, asked: ShadowQuery) -> dict[ShadowPlace, ShadowRow]:
        table = gantt_shadow.c
        query = select(table.id, *(table[name] for name in _FIELDS))
        values: dict[str, str | int] = {"most": asked.limit}
        for name in ("request_id", "instance_uuid", "verdict"):
            wanted = getattr(asked, name)
            if wanted is not None:
                query = query.where(table[name] == bindparam(name))
                values[name] = storable(wanted)
        if asked.since is not None:
            query = query.where(table.at >= bindparam("since"))
            values["since"] = asked.since
        if asked.until is not None:
            query = query.where(table.at < bindparam("until"))
            values["until"] = asked.until
        if asked.after is not None:
            at, number = asked.after
            is_same = (table.at == bindparam("at")) & (table.id < bindparam("number"))
            query = query.where((table.at < bindparam("before")) | is_same)
            values |= {"at": at, "before": at, "number": number}
        order = (table.at.desc(), table.id.desc())
        found = self._database.compile(limited(query.order_by(*order), "most"))
        given = found.values(**values)
        rows = self._lists.read(lambda session: session.all(found.text, given))
        return {(row[1], row[0]): ShadowRow(*row[1:]) for row in rows}

    def trim(self, keep: int) -> int:
        ids = self._readers.read(lambda session: session.all(self._ids, (keep + 1,)))
        if len(ids) <= keep:
            return 0
        bound = [(ids[-1][0],)]
        return self._writer.run(lambda session: session.execute_many(self._drop, bound))


def _values(row: ShadowRow) -> tuple[Any, ...]:
    uuid = row.instance_uuid
    return (
        row.at,
        storable(row.request_id),
        None if uuid is None else storable(uuid),
        row.verdict,
        row.record,
    )
