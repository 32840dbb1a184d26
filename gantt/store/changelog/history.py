"""The log for watchers, in pages from any revision that it still has, and compaction.

Apart from ``codec``, by which processes catch up: they load all tables again when they
are too far behind, while a watcher gets every revision, or an error.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, TypeVar

from sqlalchemy import (
    ColumnElement,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)

from gantt.errors import Gone
from gantt.model.changes import Cursor, LogEntry
from gantt.store.changelog.codec import entry
from gantt.store.changelog.log_pages import PAGE, is_at, why_gone
from gantt.store.database import Database, Statement, limited
from gantt.store.head import BEGINNINGS
from gantt.store.interface import Page
from gantt.store.session import Session
from gantt.store.tables import gantt_head, gantt_log

MOST_BYTES: Final = 1024 * 1024
"""Of the revisions that are read at once, as the log keeps them; a longer one is read
by itself."""
T = TypeVar("T")
# Rows that are dropped at once: no committer waits for long.
_STEP = 10_000
Read = Callable[[Callable[[Session], T]], T]


class LogHistory:
    """Statements on ``gantt_log`` by ranges of its primary key."""

    def __init__(self, database: Database) -> None:
        log = gantt_log.c

        def after(*columns: ColumnElement[Any]) -> Statement:
            query = select(*columns).where(log.revision >= bindparam("from_revision"))
            return database.compile(limited(query.order_by(log.revision), "most"))

        self._sizes = after(func.length(log.changes))
        self._after = after(*(log[name] for name in LogEntry.__struct_fields__))
        self._first = database.compile(
            limited(select(log.revision, log.kind).order_by(log.revision), 1)
        ).text

    def page(self, read: Read[Any], after: Cursor) -> Page:
        """What follows ``after``, whose batch may be a prefix or "" (any).

        Raises Gone, StoreFailed.
        """
        rows: list[Any] = read(lambda one: self._rows(one, after.revision))
        if after.revision == 0 and (not rows or rows[0][0] == 1):
            start = Cursor()
        elif rows and is_at(after, Cursor(rows[0][0], rows[0][1])):
            start = Cursor(rows[0][0], rows[0][1])
            del rows[0]
        else:
            first, kind = read(lambda one: one.one(self._first)) or (None, "")
            begun_by = kind if kind in BEGINNINGS else ""
            batch = rows[0][1] if rows else None
            raise Gone(why_gone(after, first, batch, begun_by=begun_by))
        # Decoded after the connection was given back.
        return Page(start, [entry(*row) for row in rows[:PAGE]])

    def _rows(self, session: Session, first: int) -> list[Any]:
        """That of ``first``, and those that follow; their sizes are asked for before,
        as a revision may be long."""
        given = self._sizes.values(from_revision=first, most=PAGE + 1)
        sizes = (size for (size,) in session.all(self._sizes.text, given)[1:])
        fitting = sum(size <= MOST_BYTES for size in accumulate(sizes))
        given = self._after.values(from_revision=first, most=1 + max(1, fitting))
        return session.all(self._after.text, given)


class Compactor:
    """Deletes by ranges of the primary key."""

    def __init__(self, database: Database) -> None:
        revision = gantt_log.c.revision
        self._range = database.compile(
            select(func.min(revision), func.max(revision))
        ).text
        self._drop = database.compile(
            delete(gantt_log).where(
                revision >= bindparam("from_revision"),
                revision <= bindparam("to_revision"),
            )
        ).text
        self._mark = database.compile(
            update(gantt_head)
            .where(gantt_head.c.id == literal_column("1"))
            .values(compacted_to=bindparam("to_revision"))
        ).text

    def step(self, session: Session, keep: int) -> int:
        """Drop some rows older than the last ``keep``, under the head lock; how many.
        0: none is left to drop."""
        first, last = session.one(self._range)
        if last is None:
            return 0
        bound = min(last - max(keep, 1), first + _STEP - 1)
        if bound < first:
            return 0
        dropped = session.execute_many(self._drop, [(first, bound)])
        session.execute(self._mark, (bound,))
        return dropped
