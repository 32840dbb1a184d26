"""What the store on SQL keeps beside the books, for leader tasks and the next start.

Apart from the books: no client waits for any of it, and each write fails as a whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from sqlalchemy import bindparam, insert, literal_column, select, update

from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.background.fingerprint import Fingerprints
from gantt.store.background.usage_history import SqlUsageRows, UsageHistory
from gantt.store.changelog.history import Compactor
from gantt.store.database import Database
from gantt.store.interface import Fingerprint, Lead
from gantt.store.outcomes import Outcome
from gantt.store.readers import Reader
from gantt.store.session import Session, as_failure
from gantt.store.tables import gantt_leader

T = TypeVar("T")


class SqlSideTables(ABC):
    """The methods of SqlStore that are not about the books."""

    def _prepare_leader_tasks(self, database: Database) -> None:
        self._fingerprints = Fingerprints(database)
        self._compactor = Compactor(database)
        self._leadership = Leadership(database)
        self._usage = UsageHistory(database)

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL of the books."""

    @abstractmethod
    def _read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on a connection for small reads."""

    @abstractmethod
    def _snapshot(self) -> Session:
        """A transaction that reads one snapshot."""

    @abstractmethod
    def _under_head_lock(self) -> AbstractContextManager[Session]:
        """A transaction under the head lock that commits at its end."""

    def fingerprint(self) -> Fingerprint:
        session = self._snapshot()
        try:
            return self._fingerprints.take(session)
        except Outcome as outcome:
            raise as_failure(outcome, self.url) from outcome
        finally:
            # Not back to the pool: on MariaDB a snapshot may idle without limit, and
            # the committer could get this connection next.
            session.discard()

    def saved_fingerprint(self) -> Fingerprint | None:
        return self._read(self._fingerprints.saved)

    def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        with self._under_head_lock() as session:
            self._fingerprints.save(session, fingerprint)

    def compact(self, keep: int) -> int:
        total = 0
        while True:
            with self._under_head_lock() as session:
                dropped = self._compactor.step(session, keep)
            total += dropped
            if not dropped:
                return total

    def leader(self) -> Lead:
        return self._read(self._leadership.read)

    def lead(self, holder: str, seen: Lead) -> Lead | None:
        with self._under_head_lock() as session:
            return self._leadership.take(session, holder, seen)

    def usage_history(self, asked: HistoryQuery) -> list[UsageRecord]:
        return self._read(lambda session: self._usage.find(session, asked))

    @contextmanager
    def usage_rows(self) -> Iterator[SqlUsageRows]:
        with self._under_head_lock() as session:
            yield SqlUsageRows(self._usage, session)


class Leadership:
    """Statements on ``gantt_leader``.

    The row has no time: the leader increments ``beat``, and others watch by their own
    clocks whether it changes, so that no wrong clock makes two leaders for long."""

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
        self._update = database.compile(
            update(gantt_leader)
            .where(one)
            .values(holder=bindparam("to_holder"), beat=bindparam("to_beat"))
        )

    def read(self, session: Session) -> Lead:
        """The leader."""
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
        values = change.values(the_id=1, to_holder=mine.holder, to_beat=mine.beat)
        session.execute(change.text, values)
        return mine
