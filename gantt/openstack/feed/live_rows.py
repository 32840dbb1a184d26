"""The live rows of one table as they were last read, and what is different since.

A round reads the rows that were written since shortly before the last round, and
compares the number of live rows and the sum of their ids with those that are known:
where they differ, the ids tell which rows are gone and which were missed. A part of all
rows is read again in each round, for changes that were committed long after their time.
``read`` changes nothing here; ``take`` does, once what was found has been passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from gantt.openstack.feed.nova_connection import PAGE, NovaDatabase, Row

V = TypeVar("V")


class RereadProgress(Struct, frozen=True):
    """How far the rows were read again. ``after``: the id of the last one; ``at``: when
    that was, in monotonic seconds; ``rows``: how many in this round; ``missed``: of
    these, how many had changed without a time that says so."""

    after: int
    at: float
    rows: int = 0
    missed: int = 0


class RowNews(Struct, Generic[V]):
    """``new``: rows that are new or not as they were known; ``gone``: what was known
    of rows that are not there any more. Both by id."""

    new: dict[int, Row]
    gone: dict[int, V]
    again: RereadProgress | None = None


class LiveRows(Generic[V]):
    """``columns`` of ``table``, without its id; ``keep``: what of a row (id first) is
    remembered, and tells whether it changed; ``again_s``: seconds in which all rows are
    read again, 0: never. ``known``: what is remembered, by id."""

    def __init__(
        self,
        table: sa.Table,
        columns: Sequence[sa.Column[Any]],
        keep: Callable[[Row], V],
        page: int = PAGE,
        again_s: float = 0.0,
    ) -> None:
        self._table = table
        self._select = sa.select(table.c.id, *columns)
        self._keep = keep
        self._page = page
        self._again_s = again_s
        self._again: RereadProgress | None = None
        self.known: dict[int, V] = {}

    def read(
        self,
        database: NovaDatabase,
        since: datetime | None,
        *,
        at: float,
        counts: bool = True,
    ) -> RowNews[V]:
        """What is different now. ``since`` None: all rows, as if none were known;
        ``at``: monotonic seconds; ``counts``: whether to compare numbers too. Raises
        Refused, StoreFailed."""
        if since is None:
            return self._read_all(database, at)
        new: dict[int, Row] = {}
        gone: dict[int, V] = {}
        again = self._read_again(database, at, new)
        suspects = set(new)
        for row in self._touched(database, since):
            suspects.discard(row[0])
            self._note(row, new)
        for key in self._deleted(database, since):
            new.pop(key, None)
            if key in self.known:
                gone[key] = self.known[key]
        if counts:
            self._compare(database, new, gone)
        missed = len(suspects & new.keys())
        return RowNews(new, gone, replace(again, missed=missed))

    def read_some(
        self,
        database: NovaDatabase,
        condition: sa.ColumnElement[bool],
        is_one: Callable[[V], bool],
    ) -> RowNews[V]:
        """What is different of the rows that meet ``condition``, as ``is_one`` tells
        of what is known of them. Raises Refused, StoreFailed."""
        live = self._select.where(self._table.c.deleted == 0, condition)
        rows = {row[0]: row for row in database.rows(live)}
        new: dict[int, Row] = {}
        for row in rows.values():
            self._note(row, new)
        gone = {
            key: kept
            for key, kept in self.known.items()
            if key not in rows and is_one(kept)
        }
        return RowNews(new, gone)

    def take(self, found: RowNews[V]) -> None:
        """``found`` is known from now on."""
        for key in found.gone:
            self.known.pop(key, None)
        for key, row in found.new.items():
            self.known[key] = self._keep(row)
        self._again = found.again or self._again

    def _note(self, row: Row, new: dict[int, Row]) -> None:
        """``row`` is later than what ``new`` has of it."""
        if row[0] not in self.known or self.known[row[0]] != self._keep(row):
            new[row[0]] = row
        else:
            new.pop(row[0], None)

    def _read_again(
        self, database: NovaDatabase, at: float, new: dict[int, Row]
    ) -> RereadProgress:
        """Reads as many rows again as are due: the cost of one full reading, spread
        evenly. Rows that are gone are found by their number."""
        last = self._again or RereadProgress(0, at)
        if not (self._again_s and self.known):
            return RereadProgress(last.after, at)
        most = len(self.known) + 1  # one more tells the end
        each_s = self._again_s / most
        due = min(int((at - last.at) / each_s), most)
        if not due:
            return RereadProgress(last.after, last.at)
        t = self._table.c
        rest = self._select.where(t.deleted == 0, t.id > last.after)
        found: list[Row] = []
        for page in database.pages(rest, t.id, min(due, self._page)):
            found += page
            if len(found) >= due:
                break
        for row in found:
            self._note(row, new)
        after = found[-1][0] if len(found) >= due else 0
        until = min(at, last.at + max(due, len(found)) * each_s)
        return RereadProgress(after, until, len(found))

    def _read_all(self, database: NovaDatabase, at: float) -> RowNews[V]:
        live = self._select.where(self._table.c.deleted == 0)
        pages = database.pages(live, self._table.c.id, self._page)
        new = {row[0]: row for page in pages for row in page}
        gone = {key: kept for key, kept in self.known.items() if key not in new}
        return RowNews(new, gone, RereadProgress(0, at))

    def _touched(self, database: NovaDatabase, since: datetime) -> Iterator[Row]:
        """In two statements, so that each can use an index."""
        t = self._table.c
        live = self._select.where(t.deleted == 0)
        for condition in (t.updated_at >= since, t.created_at >= since):
            yield from database.rows(live.where(condition))

    def _deleted(self, database: NovaDatabase, since: datetime) -> Iterator[int]:
        # Nova leaves updated_at alone when it deletes, but mostly writes shortly
        # before; the rest is found by its number.
        t = self._table.c
        dead = sa.select(t.id).where(t.deleted != 0, t.updated_at >= since)
        return (row[0] for row in database.rows(dead))

    def _compare(
        self, database: NovaDatabase, new: dict[int, Row], gone: dict[int, V]
    ) -> None:
        """Where numbers differ, find by ids what is gone, and what was missed."""
        t = self._table.c
        there = (self.known.keys() | new.keys()) - gone.keys()
        ((count, total),) = database.rows(
            sa.select(sa.func.count(), sa.func.sum(t.id)).where(t.deleted == 0)
        )
        if (count, int(total or 0)) == (len(there), sum(there)):
            return
        live: set[int] = set()
        ids = sa.select(t.id).where(t.deleted == 0)
        for page in database.pages(ids, t.id, 10 * PAGE):
            live.update(row[0] for row in page)
        for key in there - live:
            new.pop(key, None)
            if key in self.known:
                gone[key] = self.known[key]
        wanted = self._select.where(t.deleted == 0)
        for row in database.rows_of(wanted, t.id, live - there):
            self._note(row, new)
        for key in live & gone.keys():
            del gone[key]
