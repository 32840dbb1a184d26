"""The row that says who leads the leader tasks of one database.

It stands apart because nothing that is correct depends on it. It bears no time: who
leads counts ``beat`` up, and who does not watches whether it moves, by its own clock;
so no clock, neither the database's nor a process's, can make two leaders for long.
"""

from __future__ import annotations

from sqlalchemy import bindparam, insert, literal_column, select, update

from gantt.store.database import Database
from gantt.store.interface import Lead
from gantt.store.session import Session
from gantt.store.tables import gantt_leader


class Leadership:
    """Statements on ``gantt_leader``."""

    def __init__(self, database: Database) -> None:
        table = gantt_leader.c
        one = table.id == literal_column("1")
        self._read = database.compile(select(table.holder, table.beat).where(one)).text
        self._insert = database.compile(
            insert(gantt_leader).values(
                id=bindparam("the_id"),
                holder=bindparam("to_holder"),
                beat=bindparam("to_beat"),
            )
        )
        self._insert_values = self._insert.picker(("the_id", "to_holder", "to_beat"))
        self._update = database.compile(
            update(gantt_leader)
            .where(one)
            .values(holder=bindparam("to_holder"), beat=bindparam("to_beat"))
        )
        self._update_values = self._update.picker(("to_holder", "to_beat"))

    def read(self, session: Session) -> Lead:
        """Who leads."""
        row = session.one(self._read)
        return Lead() if row is None else Lead(row[0], int(row[1]))

    def take(self, session: Session, holder: str, seen: Lead) -> Lead | None:
        """Lead as ``holder`` if the row is still as it was ``seen``; under the head
        lock. The row from now on, or None when somebody else was faster."""
        row = session.one(self._read)
        found = Lead() if row is None else Lead(row[0], int(row[1]))
        if found != seen:
            return None
        mine = Lead(holder, seen.beat + 1)
        if row is None:
            values = self._insert_values((1, mine.holder, mine.beat))
            session.execute(self._insert.text, values)
        else:
            values = self._update_values((mine.holder, mine.beat))
            session.execute(self._update.text, values)
        return mine
