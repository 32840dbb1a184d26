"""Snapshots of books and fleet, and engines in memory that begin with them.

From the lines of a record or of a service, or from a database, which is only read. What
is done to such an engine is never written back: its store knows no other place.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.engine.recording.snapshot_lines import snapshot_lines
from gantt.errors import Invalid
from gantt.model import record as r
from gantt.model.changes import Cursor
from gantt.model.rows import HOST_AGGREGATES, ROW_TYPES, HostAggregateRow, Row
from gantt.model.usage_history import HistoryQuery, UsageRecord
from gantt.replay.process_records import (
    RecordedFile,
    head_of,
    line_of,
    policy_of_line,
)
from gantt.replay.recorded_changes import change_of, keep_change, read_rows
from gantt.scheduler.options import SchedulerOptions
from gantt.store import open_store
from gantt.store.snapshot_store import SnapshotStore

_ZONE: Final = "availability_zone"
_METADATA: Final = msgspec.json.Decoder(dict[str, str]).decode


class LoadedSnapshot(Struct, frozen=True):
    """``rows``: by table, in the order of their keys. ``options``: the policy of the
    service; None: not known. ``usage``: its usage history, where that is asked for.
    ``where``: what it was read from."""

    cursor: Cursor
    rows: dict[str, list[Row]]
    options: SchedulerOptions | None = None
    search_budget: int = EngineOptions().search_budget
    usage: tuple[UsageRecord, ...] = ()
    where: str = ""

    def zones(self) -> list[str]:
        """Those that aggregates name, and that of hosts without one."""
        usual = (self.options or SchedulerOptions()).default_availability_zone
        each = (
            _METADATA(one.metadata).get(_ZONE)
            for one in self.rows.get(HOST_AGGREGATES, ())
            if isinstance(one, HostAggregateRow)
        )
        return sorted({usual, *filter(None, each)})

    def engine(self, **changed: Any) -> Gantt:
        """A copy in memory, with options ``changed``. Raises Refused, Invalid."""
        options = self.options or SchedulerOptions()
        fixed: dict[str, Any] = {"placement": "embedded", "shared_records": 0}
        return Gantt(
            SnapshotStore(self.cursor, self.rows, self.usage, where=self.where),
            EngineOptions(
                search_budget=self.search_budget,
                usage_sample_s=0,
                heartbeats=False,
                scheduler=replace(options, **(changed | fixed)),
            ),
        )


def of_database(url: str, options: SchedulerOptions | None = None) -> LoadedSnapshot:
    """Read the database at ``url``, and write nothing. Raises Refused, StoreFailed."""
    store = open_store(url)
    try:
        cursor, chunks = store.load()
        rows: dict[str, list[Row]] = {}
        with closing(chunks):
            for table, some in chunks:
                rows.setdefault(table, []).extend(some)
    finally:
        store.close()
    return LoadedSnapshot(cursor, rows, options, where=store.url)


def usage_of_database(url: str, period_s: int, *, zones: bool) -> list[UsageRecord]:
    """Its usage history by such periods, that of each ``zones`` too. Raises Refused,
    StoreFailed."""
    store = open_store(url)
    try:
        asked = HistoryQuery(period_s)
        found = store.usage_history(asked)
        if zones:
            found = [*found, *store.usage_history(replace(asked, zone=None))]
        return found
    finally:
        store.close()


def lines_of_database(url: str) -> Iterator[bytes]:
    """The lines of a snapshot, as a service sends them; with the default policy, as a
    database has none. Raises Refused, StoreFailed."""
    store = open_store(url)
    try:
        usual = EngineOptions()
        yield from snapshot_lines(
            store.load(),
            usual.scheduler,
            usual.search_budget,
            process=store.url,
            at=time.time_ns() // 1000,
        )
    finally:
        store.close()


def of_lines(lines: Iterable[bytes], where: str) -> LoadedSnapshot:
    """What a service sent. Raises Invalid, also where it is not whole."""
    each = iter(lines)
    head_of(where, next(each, b""))
    return _snapshot(_decoded(each, where), where)


def of_file(path: Path) -> LoadedSnapshot:
    """A file of a record as it was at its end, or one that ``gantt snapshot`` wrote.
    Raises Invalid."""
    file = RecordedFile(path)
    return _snapshot(((line, file.where) for line in file), str(path))


def _decoded(lines: Iterable[bytes], where: str) -> Iterator[tuple[r.Line, str]]:
    for number, line in enumerate(lines, 2):
        place = f"{where}:{number}"
        yield line_of(line, place), place


def _snapshot(lines: Iterator[tuple[r.Line, str]], where: str) -> LoadedSnapshot:
    """``lines``: each with its place."""
    rows: dict[str, dict[Any, Row]] = {table: {} for table in ROW_TYPES}
    cursor: Cursor | None = None
    policy: r.RecordedPolicy | None = None
    options: SchedulerOptions | None = None
    for line, place in lines:
        if isinstance(line, r.Rows):
            for table, some in read_rows(line, place).items():
                rows[table] |= some
        elif isinstance(line, r.Applied):
            for at, one in enumerate(line.changes):
                keep_change(rows, change_of(f"{place}: changes[{at}]", *one), place)
        elif isinstance(line, r.RecordedPolicy):
            policy, options = line, policy_of_line(line, place)
        if isinstance(line, r.Started | r.Applied):
            cursor = Cursor(line.revision, line.batch)
    if cursor is None or policy is None:
        raise Invalid(f"{where} is no whole snapshot, it ended early: take another.")
    return LoadedSnapshot(
        cursor,
        {table: [mine[key] for key in sorted(mine)] for table, mine in rows.items()},
        options,
        policy.search_budget,
        where=where,
    )
