"""Statements on ``gantt_usage_history``.

Apart from the books: no revision, no log, and no decision depends on it. Writers hold
the head lock, so that two processes that lead for a moment take turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select

from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.database import Database, limited
from gantt.store.session import Session
from gantt.store.tables import gantt_usage_history

# The columns in the order of the fields of a record.
_COLUMNS = tuple(
    {"period_s": "period"}.get(name, name) for name in UsageRecord.__struct_fields__
)


class UsageHistory:
    """The statements, compiled once for a database."""

    def __init__(self, database: Database) -> None:
        table = gantt_usage_history.c
        within = (
            table.period == bindparam("the_period"),
            table.start >= bindparam("since"),
            table.start < bindparam("until"),
        )
        # Of the ends of a span one row, by the key: min and max of all would read what
        # is in between.
        start = limited(select(table.start).where(*within), "most")
        records = limited(
            select(*(table[name] for name in _COLUMNS))
            .where(*within)
            # Both ways down: that is the key, read backwards, and nothing is sorted.
            .order_by(table.start.desc(), table.resource_class.desc()),
            "most",
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
        statement = self.records if asked.resource_class is None else self.of_class
        values = statement.values(
            the_period=asked.period_s,
            since=asked.since,
            until=asked.until,
            the_class=asked.resource_class,
            most=asked.limit,
        )
        return [UsageRecord(*row) for row in session.all(statement.text, values)]


class SqlUsageRows:
    """The rows while a session holds the head lock; see ``interface.UsageRows``."""

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
