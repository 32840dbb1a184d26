"""Drops old rows of the log, in steps short enough that no committer waits for long.

It stands apart because it is the one writer of ``gantt_head``: the row that everybody
locks is changed here only, and rarely.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, func, literal_column, select, update

from gantt.store.database import Database
from gantt.store.session import Session
from gantt.store.tables import gantt_head, gantt_log

_STEP = 10_000


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
        """Drop some rows older than the last ``keep``, under the head lock; how many
        went. None left to drop when 0."""
        first, last = session.one(self._range)
        if last is None:
            return 0
        bound = min(last - max(keep, 1), first + _STEP - 1)
        if bound < first:
            return 0
        dropped = session.execute_many(self._drop, [(first, bound)])
        session.execute(self._mark, (bound,))
        return dropped
