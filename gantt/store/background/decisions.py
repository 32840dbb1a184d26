"""The table by which processes tell each other what they decided.

Apart from the books: nobody takes the head lock for it, the log does not know of it,
and a machine that fails may lose the last of it. Rows are found by looking at all of
them, newest first: they are few (``trim``), and keeping indexes would cost every
decision more than it could ever save those who ask.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, Final, TypeVar

from sqlalchemy import bindparam, delete, func, literal_column, select

from gantt.errors import StoreFailed
from gantt.model.selection import Asked
from gantt.store.database import Database, Statement
from gantt.store.interface import DECISION_INSTANCES, SharedDecision, Trimmed
from gantt.store.outcomes import DataError, Outcome
from gantt.store.readers import Readers
from gantt.store.session import Counter, Session, as_failure
from gantt.store.tables import gantt_decisions

T = TypeVar("T")
LOG = logging.getLogger(__name__)
_FIELDS: Final = SharedDecision.__struct_fields__
_LONGEST: Final = 255
# Rows that go at once: a committer of SQLite waits meanwhile.
_STEP: Final = 500


class DecisionTable:
    """Statements on ``gantt_decisions``. ``committer``: the lock of this process's
    committer."""

    def __init__(
        self,
        database: Database,
        readers: Readers,
        counter: Counter,
        committer: threading.Lock,
    ) -> None:
        self._database = database
        self._readers = readers
        self._counter = counter
        # Where there is one writer at a time, our own committer waits its turn rather
        # than trying again and again.
        self._turn = threading.Lock() if database.has_row_lock else committer
        self._session: Session | None = None
        self._insert = database.bulk.insert(gantt_decisions, _FIELDS, at_once=True)
        self._found = {
            names: _query(database, names)
            for size in range(len(_MEANT) + 1)
            for names in combinations(_MEANT, size)
        }
        table = gantt_decisions.c
        self._first = database.compile(select(func.min(table.id))).text
        self._sizes = database.compile(
            select(table.id, table.instances)
            .order_by(table.id.desc())
            .limit(bindparam("most"))
            .offset(literal_column("0"))
        ).text
        self._drop = database.compile(
            delete(gantt_decisions).where(table.id <= bindparam("bound"))
        ).text

    def add(self, rows: Sequence[SharedDecision]) -> int:
        values = [_values(one) for one in rows]
        try:
            self._write(lambda session: session.send_rows(self._insert, values))
        except DataError as error:
            if len(rows) > 1:
                return sum(self.add((one,)) for one in rows)
            LOG.warning("a record of a decision cannot be kept: %s", error)
            return 1
        return 0

    def find(self, asked: Asked) -> list[SharedDecision]:
        given = {
            "request_id": asked.request_id,
            "project_id": asked.project_id,
            "instance_uuid": asked.instance_uuid,
        }
        names = tuple(name for name in _MEANT if given[name] is not None)
        query = self._found[names]
        values = [_asked(name, given[name] or "") for name in names]
        wanted = query.picker((*names, "most"))((*values, max(0, asked.limit)))
        rows = self._readers.read(lambda session: session.all(query.text, wanted))
        return [SharedDecision(*one) for one in rows]

    def trim(self, keep: int) -> Trimmed:
        read = self._readers.read
        sizes = read(lambda session: session.all(self._sizes, (keep + 1,)))
        left = _fitting(sizes, keep)
        if left == len(sizes):
            return Trimmed(0, left)
        bound = sizes[left][0]
        dropped, first = 0, read(lambda session: session.one(self._first))[0]
        for start in range(first, bound + 1, _STEP):
            values = [(min(start + _STEP - 1, bound),)]
            dropped += self._drop_to(values)
        return Trimmed(dropped, left)

    def _drop_to(self, values: list[tuple[int]]) -> int:
        return self._write(lambda session: session.execute_many(self._drop, values))

    def close(self) -> None:
        """Let go of the connection."""
        session, self._session = self._session, None
        if session is not None:
            session.discard()

    def _write(self, act: Callable[[Session], T]) -> T:
        """Do it in a transaction of its own. Raises StoreFailed, DataError."""
        wait_s = self._database.options.lock_timeout_s
        if not self._turn.acquire(timeout=wait_s):
            raise StoreFailed(
                f"The committer of {self._database.url} was not free in time."
            )
        try:
            self._readers.require_open()
            self._database.check_place()
            if self._session is not None:
                try:
                    return self._carried_out(self._session, act)
                except Outcome:
                    if self._session is not None:
                        raise
            # None yet, or it was cut while nothing was to be written. If it broke in
            # the COMMIT, rows may be there twice, which those who read them mend.
            self._session = Session(self._database, self._counter)
            return self._carried_out(self._session, act)
        except DataError:
            raise
        except Outcome as outcome:
            raise as_failure(outcome, self._database.url) from outcome
        finally:
            self._turn.release()

    def _carried_out(self, session: Session, act: Callable[[Session], T]) -> T:
        try:
            session.start(self._database.begin_lightly)
            done = act(session)
            session.commit()
        except BaseException:
            session.rollback()
            raise
        finally:
            if session.is_lost:
                self._session = None
        return done


_MEANT: Final = ("request_id", "project_id", "instance_uuid")


def _query(database: Database, names: Iterable[str]) -> Statement:
    """The last rows that agree with ``names``."""
    table = gantt_decisions.c
    conditions = {
        "request_id": table.request_id == bindparam("request_id"),
        "project_id": table.project_id == bindparam("project_id"),
        "instance_uuid": table.instance_uuids.like(
            bindparam("instance_uuid"), escape="/"
        ),
    }
    return database.compile(
        select(*(table[name] for name in _FIELDS))
        .where(*(conditions[name] for name in names))
        .order_by(table.id.desc())
        .limit(bindparam("most"))
        .offset(literal_column("0"))
    )


def _asked(name: str, wanted: str) -> str:
    """What the rows of what is ``wanted`` hold, or bear a likeness to."""
    if name != "instance_uuid":
        return _cut(wanted)
    for letter in "/%_":
        wanted = wanted.replace(letter, f"/{letter}")
    return f"%,{_clean(wanted)},%"


def _values(row: SharedDecision) -> tuple[Any, ...]:
    return (
        _cut(row.process),
        row.number,
        row.at,
        _cut(row.request_id),
        None if row.project_id is None else _cut(row.project_id),
        row.is_refused,
        row.instances,
        _clean(row.instance_uuids),
        row.record,
    )


def _cut(text: str) -> str:
    return _clean(text)[:_LONGEST]


def _clean(text: str) -> str:
    """What every database can hold of it: the record itself has it as it was."""
    if text.isprintable():
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _fitting(sizes: Sequence[tuple[int, int]], keep: int) -> int:
    """How many of the rows may stay: (id, instances), the newest first."""
    instances = 0
    for count, (_, size) in enumerate(sizes):
        instances += size
        if count and (count >= keep or instances > DECISION_INSTANCES * keep):
            return count
    return len(sizes)
