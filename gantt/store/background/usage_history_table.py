"""Statements on ``gantt_usage_history`` and ``gantt_zone_usage``.

Apart from the books: no revision, no log, and no decision depends on it. Writers hold
the head lock, so that two processes that lead for a moment take turns. What periods
there are is read of all providers: a sample of zones never stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple
from sqlalchemy import ColumnElement, Select, Table, bindparam, delete, select

from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.store.database import Database, limited
from gantt.store.session import Session
from gantt.store.tables import gantt_usage_history, gantt_zone_usage

# The columns in the order of the fields of a record; ``zone`` is the last.
_ZONE_COLUMNS = tuple(
    {"period_s": "period"}.get(name, name) for name in UsageRecord.__struct_fields__
)
_COLUMNS = tuple(name for name in _ZONE_COLUMNS if name != "zone")


class UsageHistoryTable:
    """The statements, compiled once for a database."""

    def __init__(self, database: Database) -> None:
        fleet, zones = gantt_usage_history, gantt_zone_usage
        within, zoned = _within(fleet), _within(zones)
        # Of the ends of a span one row, by the key: min and max of all would read what
        # is in between.
        start = limited(select(fleet.c.start).where(*within), "most")
        records, of_zones = _records(fleet, _COLUMNS), _records(zones, _ZONE_COLUMNS)
        of_zone = of_zones.where(zones.c.zone == bindparam("the_zone"))
        self.first = database.compile(start.order_by(fleet.c.start))
        self.last = database.compile(start.order_by(fleet.c.start.desc()))
        self.drop = database.compile(delete(fleet).where(*within))
        self.drop_zones = database.compile(delete(zones).where(*zoned))
        # By whether it is of zones, of one zone, of one class.
        self.finds = {
            (False, False, False): database.compile(records),
            (False, False, True): database.compile(_of_class(records, fleet)),
            (True, False, False): database.compile(of_zones),
            (True, False, True): database.compile(_of_class(of_zones, zones)),
            (True, True, False): database.compile(of_zone),
            (True, True, True): database.compile(_of_class(of_zone, zones)),
        }
        self.insert = database.bulk.insert(fleet, _COLUMNS)
        self.insert_zones = database.bulk.insert(zones, _ZONE_COLUMNS)

    def find(self, session: Session, asked: HistoryQuery) -> list[UsageRecord]:
        is_of_class = asked.resource_class is not None
        statement = self.finds[asked.zone != "", bool(asked.zone), is_of_class]
        values = statement.values(
            the_period=asked.period_s,
            since=asked.since,
            until=asked.until,
            the_zone=asked.zone,
            the_class=asked.resource_class,
            most=asked.limit,
        )
        return [UsageRecord(*row) for row in session.all(statement.text, values)]


def _within(table: Table) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.period == bindparam("the_period"),
        table.c.start >= bindparam("since"),
        table.c.start < bindparam("until"),
    )


def _records(table: Table, columns: Sequence[str]) -> Select[tuple[object, ...]]:
    # All ways down: that is the key, read backwards, and nothing is sorted.
    order = ("start", "zone", "resource_class")
    return limited(
        select(*(table.c[name] for name in columns))
        .where(*_within(table))
        .order_by(*(table.c[name].desc() for name in order if name in columns)),
        "most",
    )


def _of_class(
    records: Select[tuple[object, ...]], table: Table
) -> Select[tuple[object, ...]]:
    return records.where(table.c.resource_class == bindparam("the_class"))


class SqlUsageRows:
    """The rows while a session holds the head lock; see ``interface.UsageRows``."""

    def __init__(self, history: UsageHistoryTable, session: Session) -> None:
        self._history = history
        self._session = session

    def now(self) -> int | None:
        return self._session.now()

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
        for zoned, columns, insert in (
            (False, len(_COLUMNS), self._history.insert),
            (True, len(_ZONE_COLUMNS), self._history.insert_zones),
        ):
            chosen = [
                astuple(one)[:columns] for one in records if bool(one.zone) is zoned
            ]
            if chosen:
                self._session.send_rows(insert, chosen)

    def drop(self, period_s: int, since: int, until: int) -> int:
        values = [(period_s, since, until)]
        return sum(
            self._session.execute_many(one.text, values)
            for one in (self._history.drop, self._history.drop_zones)
        )
