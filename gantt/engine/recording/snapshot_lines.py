"""All rows at one revision, and the policy, as the lines of a record without decisions.

So what reads records reads snapshots: for questions about other hosts or policies.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Final

import msgspec

from gantt.engine.reading.replica import Replica
from gantt.engine.recording.entry_queue import PolicyEntry
from gantt.engine.recording.record_lines import RecordLines, text
from gantt.model.changes import Cursor
from gantt.model.facts import as_service
from gantt.model.record import KIND, SNAPSHOT_FORMAT, Closed, Head, Rows, Started
from gantt.model.rows import FACTS, ROW_TYPES, SERVICES, FactRow, Row
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import Chunks, Store
from gantt.store.memory_store import MemoryStore
from gantt.version import __version__

_ENCODE: Final = msgspec.json.Encoder().encode
_BEGAN: Final = "a snapshot was asked for"


def snapshot_of(store: Store, replica: Replica) -> tuple[Cursor, Chunks]:
    """A snapshot of the tables; where there are none, of the columns. Exhaust or close
    the chunks. Raises StoreFailed."""
    if not isinstance(store, MemoryStore):
        return store.load()
    with replica.lock:
        state = replica.state
        rows = {table: list(state.rows(table)) for table in ROW_TYPES}
        return state.cursor, _chunks(rows)


def snapshot_lines(
    snapshot: tuple[Cursor, Chunks],
    options: SchedulerOptions,
    search_budget: int,
    *,
    process: str,
    at: int,
) -> Generator[bytes, None, None]:
    """Lines with their ends. Raises StoreFailed, while they are made."""
    cursor, chunks = snapshot
    with closing(chunks):
        head = Head(
            kind=KIND,
            format=SNAPSHOT_FORMAT,
            version=__version__,
            process=process,
            at=at,
            began=_BEGAN,
        )
        yield text([head])
        for table, rows in chunks:
            if rows:
                yield text([row_line(table, rows)])
        policy = RecordLines(search_budget).take_policy(PolicyEntry(options, False))
        for line in (Started(cursor.revision, cursor.batch), policy, Closed()):
            yield text([line])


def row_line(table: str, rows: list[Row]) -> Rows:
    """Some rows of a snapshot; facts as they are told."""
    if table == FACTS:
        table = SERVICES
        rows = [as_service(one) for one in rows if isinstance(one, FactRow)]
    return Rows(table, msgspec.Raw(_ENCODE(rows)))


def _chunks(rows: dict[str, list[Row]]) -> Chunks:
    yield from rows.items()
