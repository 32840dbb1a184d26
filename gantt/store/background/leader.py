"""The rows of ``gantt_leader``: who leads the leader tasks, and whose turn it is to
feed the books."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import bindparam, insert, literal_column, select, update

from gantt.store.database import Database
from gantt.store.interface import Lead
from gantt.store.session import Session
from gantt.store.tables import gantt_leader


class LeaderTable:
    """Statements on the row ``key`` of ``gantt_leader``.

    It has no time: the leader increments ``beat``, and others watch by their own
    clocks whether it changes, so that no wrong clock makes two leaders for long."""

    def __init__(self, database: Database, key: int) -> None:
        self._database = database
        self._key = key
        table = gantt_leader.c
        one = table.id == literal_column(str(key))
        self._read = database.compile(select(table.holder, table.beat).where(one)).text
        self._insert = database.compile(
            insert(gantt_leader).values(
                id=bindparam("the_id"),
                holder=bindparam("to_holder"),
                beat=bindparam("to_beat"),
            )
        )
        self._update = database.compile(
            update(gantt_leader)
            .where(one)
            .values(holder=bindparam("to_holder"), beat=bindparam("to_beat"))
        )

        # Of no row: it locks nothing, and a server that is read-only refuses it.
        self._none = database.compile(
            update(gantt_leader)
            .where(table.id == literal_column("0"))
            .values(beat=table.beat)
        ).text

    def check_writable(self, read: Callable[[Callable[[Session], Any]], Any]) -> None:
        """Raises StoreFailed where the database takes no writes. A file has one writer
        at a time, and is only looked at."""
        self._database.check_writable()
        if self._database.has_row_lock:
            read(lambda session: session.execute(self._none))

    def read(self, session: Session) -> Lead:
        row = session.one(self._read)
        return Lead() if row is None else Lead(row[0], int(row[1]))

    def take(self, session: Session, holder: str, seen: Lead) -> Lead | None:
        """Lead as ``holder`` if the row is still as ``seen``; under the head lock. The
        new row, or None if another process was faster."""
        row = session.one(self._read)
        found = Lead() if row is None else Lead(row[0], int(row[1]))
        if found != seen:
            return None
        mine = Lead(holder, seen.beat + 1)
        change = self._insert if row is None else self._update
        values = change.values(
            the_id=self._key, to_holder=mine.holder, to_beat=mine.beat
        )
        session.execute(change.text, values)
        return mine
