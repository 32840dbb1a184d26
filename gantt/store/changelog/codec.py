"""The log: how changes are encoded in its rows (msgpack, new values only), and queries.

Log rows outlive programs: other processes, other releases and feeds read them, so the
numbers below are never reused and fields are only appended.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import Any

import msgspec
from sqlalchemy import bindparam, select

from gantt import errors
from gantt.model import rows
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.rows import Key, Row
from gantt.store.database import Database, limited
from gantt.store.session import Session, StatementResult
from gantt.store.tables import gantt_log

TABLE_NUMBERS: dict[str, int] = {
    rows.RESOURCE_CLASSES: 1,
    rows.TRAITS: 2,
    rows.AGGREGATES: 3,
    rows.PROJECTS: 4,
    rows.USERS: 5,
    rows.CONSUMER_TYPES: 6,
    rows.PROVIDERS: 7,
    rows.CONSUMERS: 8,
    rows.INVENTORIES: 9,
    rows.ALLOCATIONS: 10,
    rows.PROVIDER_TRAITS: 11,
    rows.PROVIDER_AGGREGATES: 12,
    rows.SERVICES: 13,
    rows.HOSTS: 14,
    rows.HOST_AGGREGATES: 15,
    rows.INSTANCES: 16,
    rows.SERVER_GROUPS: 17,
    rows.FACTS: 19,
    rows.BOOKINGS: 20,
}
# Rows of claims, as bookings were called: these had fewer fields.
_BEFORE = (rows.BOOKINGS, 18)

_MAX_KIND = 64
_MAX_REQUEST_ID = 255

_Keys = list[tuple[int, Key, msgspec.Raw]]
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Keys)
_ROW_DECODERS: dict[int, tuple[str, msgspec.msgpack.Decoder[Any]]] = {
    number: (name, msgspec.msgpack.Decoder(rows.ROW_TYPES[name] | None))
    for name, number in (*TABLE_NUMBERS.items(), _BEFORE)
}


def encode(changes: Sequence[Change]) -> bytes:
    """``[[table number, key, row or null], …]``; a row is the array of its fields."""
    found: list[tuple[int, Key, Row | None]] = []
    for one in changes:
        found.append((TABLE_NUMBERS[one.table], one.key, one.new))
    return _ENCODER.encode(found)


def decode(data: bytes) -> tuple[Change, ...]:
    """The changes of a log row, their ``old`` unknown. Raises StoreFailed."""
    try:
        return tuple(_change(*parts) for parts in _DECODER.decode(data))
    except (msgspec.MsgspecError, KeyError) as error:
        raise errors.StoreFailed(
            f"A row of gantt_log cannot be read ({error!r}): was it written by a newer "
            "Gantt? Upgrade this process."
        ) from error


def _change(number: int, key: Key, raw: msgspec.Raw) -> Change:
    table, decoder = _ROW_DECODERS[number]
    row: Row | None = decoder.decode(raw)
    return Change(table, key, None, row)


class LogTable:
    """The statements on ``gantt_log``, all by ranges of its primary key."""

    def __init__(self, database: Database) -> None:
        log = gantt_log.c
        self._limit = database.options.tail_limit
        self._end = database.compile(
            limited(select(log.revision, log.batch).order_by(log.revision.desc()), 1)
        )
        self._last_at = database.compile(
            limited(select(log.at).order_by(log.revision.desc()), 1)
        )
        self._after = database.compile(
            # PostgreSQL expects a third of the log in a range that is open at one end,
            # and would sort all of it instead of using the index.
            select(*(log[name] for name in LogEntry.__struct_fields__))
            .where(
                log.revision >= bindparam("from_revision"),
                log.revision <= bindparam("to_revision"),
            )
            .order_by(log.revision)
        )
        self._first_from = database.compile(
            limited(
                select(log.revision, log.batch)
                .where(log.revision >= bindparam("from_revision"))
                .order_by(log.revision),
                1,
            )
        )
        self._insert = database.bulk.insert(gantt_log, LogEntry.__struct_fields__)

    def end(self, session: Session) -> Cursor:
        """The last revision and its batch."""
        row = session.one(self._end.text)
        return Cursor(int(row[0]), row[1]) if row else Cursor()

    def stamp(self, session: Session) -> int:
        """The time of the last revision; 0 without one."""
        row = session.one(self._last_at.text)
        return int(row[0]) if row else 0

    def ask(self, session: Session, revision: int) -> StatementResult:
        """Send the query for all from ``revision`` on, for ``read``."""
        return session.send(self._after.text, (revision, revision + self._limit + 1))

    def tail(self, session: Session, after: Cursor) -> list[LogEntry] | None:
        """Entries after ``after``; None when the log does not continue it, or is
        more than ``tail_limit`` revisions ahead."""
        return self.read(session, self.ask(session, after.revision).rows, after)

    def read(
        self, session: Session, found: list[Any], after: Cursor
    ) -> list[LogEntry] | None:
        """The entries that ``tail`` reads, of rows that ``ask`` found from ``after``
        on."""
        if not after.revision:
            # Before the first revision there is no row at the cursor.
            if not found and self.end(session).revision:
                return None
        else:
            # The row at the cursor itself shows whether this is the same history.
            if not found or (found[0][0], found[0][1]) != (after.revision, after.batch):
                return None
            found = found[1:]
        has_gap = bool(found) and found[-1][0] != after.revision + len(found)
        if has_gap or len(found) > self._limit:
            return None
        return list(starmap(entry, found))

    def is_cut(self, found: list[Any], revision: int) -> bool:
        """Whether there may be more than what ``ask`` found from ``revision`` on, which
        need not be there: the log may begin later."""
        return bool(found) and found[-1][0] > revision + self._limit

    def has_batch(self, session: Session, end: Cursor) -> bool | None:
        """Whether the row at ``end`` is that batch's; None: there is none, but later
        ones.

        A process cut off during COMMIT may come back after the log was compacted beyond
        its batch: False would make it write the batch again.
        """
        found = session.one(self._first_from.text, (end.revision,))
        if found is None:
            return False  # the log has not come so far
        return found[1] == end.batch if found[0] == end.revision else None

    def append(self, session: Session, entries: Sequence[LogEntry]) -> None:
        """A row per entry; a revision that exists is a ForeignWrite."""
        values: list[tuple[int | str | bytes, ...]] = []
        for one in entries:
            # What only annotates must never make a batch fail.
            kind, request_id = one.kind[:_MAX_KIND], one.request_id[:_MAX_REQUEST_ID]
            values.append(
                (
                    one.revision,
                    one.batch,
                    one.at,
                    kind,
                    request_id,
                    encode(one.changes),
                )
            )
        session.send_rows(self._insert, values)


def entry(
    revision: int, batch: str, at: int, kind: str, request_id: str, changes: bytes
) -> LogEntry:
    """A row of the log; ``old`` of its changes is unknown. Raises StoreFailed."""
    return LogEntry(revision, batch, at, kind, request_id, decode(changes))
