"""Statements on ``gantt_usage_history``.

It stands apart from the books: no revision, no log, nothing that is decided hangs on
it. Who writes holds the head lock, so that two who lead for a moment take turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Integer, bindparam, delete, literal_column, select

from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.database import Database
from gantt.store.session import Session
from gantt.store.tables import gantt_usage_history

# The columns in the order of the fields of a record.
_COLUMNS = tuple(
    {"period_s": "period"}.get(name, name) for name in UsageRecord.__struct_fields__
)
_NONE: ColumnElement[int] = literal_column("0")  # else SQLAlchemy makes it a parameter
_SPAN = ("the_period", "since", "until")


class UsageHistory:
    """The statements, compiled once for a database."""

    def __init__(self, database: Database) -> None:
        table = gantt_usage_history.c
        within = (
            table.period == bindparam("the_period"),
            table.start >= bindparam("since"),
            table.start < bindparam("until"),
        )
        # At most so many rows; of the ends of a span one, by the key: min and max of
        # all would read what is in between.
        most = bindparam("most", type_=Integer)
        start = select(table.start).where(*within).limit(most).offset(_NONE)
        records = (
            select(*(table[name] for name in _COLUMNS))
            .where(*within)
            # Both ways down: that is the key, read backwards, and nothing is sorted.
            .order_by(table.start.desc(), table.resource_class.desc())
            .limit(most)
            .offset(_NONE)
        )
        of_class = records.where(table.resource_class == bindparam("the_class"))
        self.clock = database.clock
        self.first = database.compile(start.order_by(table.start))
        self.last = database.compile(start.order_by(table.start.desc()))
        self.drop = database.compile(delete(gantt_usage_history).where(*within))
        self.records = database.compile(records)
        self.of_class = database.compile(of_class)
        self.insert = database.bulk.insert(gantt_usage_history, _COLUMNS)

    def find(self, session: Session, asked: HistoryQuery) -> list[UsageRecord]:
        """As ``Store.usage_history``."""
        name = asked.resource_class
        statement = self.records if name is None else self.of_class
        pick = statement.picker((*_SPAN, "the_class", "most"))
        span = (asked.period_s, asked.since, asked.until)
        rows = session.all(statement.text, pick((*span, name, asked.limit)))
        return [UsageRecord(*row) for row in rows]


class SqlUsageRows:
    """The rows while a session holds the head lock; see ``contract.UsageRows``."""

    def __init__(self, history: UsageHistory, session: Session) -> None:
        self._history = history
        self._session = session

    def now(self) -> int | None:
        clock = self._history.clock
        return None if clock is None else int(self._session.one(clock)[0])

    def first(self, period_s: int, since: int, until: int) -> int | None:
        return self._end(self._history.first.text, (period_s, since, until, 1))

    def last(self, period_s: int, since: int, until: int) -> int | None:
        return self._end(self._history.last.text, (period_s, since, until, 1))

    def _end(self, text: str, values: tuple[int, ...]) -> int | None:
        row = self._session.one(text, values)
        return None if row is None else int(row[0])

    def find(self, asked: HistoryQuery) -> list[UsageRecord]:
        return self._history.find(self._session, asked)

    def replace(
        self, period_s: int, start: int, records: Sequence[UsageRecord]
    ) -> None:
        self.drop(period_s, start, start + 1)
        if records:
            fields = UsageRecord.__struct_fields__
            rows = [tuple(getattr(one, name) for name in fields) for one in records]
            self._session.send_rows(self._history.insert, rows)

    def drop(self, period_s: int, since: int, until: int) -> int:
        values = [(period_s, since, until)]
        return self._session.execute_many(self._history.drop.text, values)
