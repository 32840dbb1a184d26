"""The table ``gantt_heartbeats``: when each host was heard of last.

Beside the books: a heartbeat says nothing new, and would fill the log if it were a
revision. A row is short, and there is one for each host.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select

from gantt.errors import StoreFailed
from gantt.store.background.beside_books import BesideBooks
from gantt.store.interface import Heartbeat, RecordPage, Trimmed
from gantt.store.outcomes import DefiniteAbort, ForeignWrite
from gantt.store.session import Session
from gantt.store.tables import gantt_heartbeats

_TABLE = gantt_heartbeats


class HeartbeatTable:
    """Implements SideTable: a row for each host."""

    def __init__(self, beside: BesideBooks) -> None:
        self._beside = beside
        database = beside.database
        bulk = database.bulk
        columns = ("host_id", "heard_at")
        self._all = database.compile(select(*(_TABLE.c[name] for name in columns))).text
        self._known = bulk.select(_TABLE, ("host_id",), "host_id")
        self._insert = bulk.insert(_TABLE, columns)
        self._update = bulk.update(_TABLE, ("heard_at",), ("host_id",))
        self._delete = bulk.delete(_TABLE, ("host_id",))

    def page(self, asked: None = None) -> RecordPage[Heartbeat]:
        del asked  # all of them
        rows = self._beside.readers.read(lambda session: session.all(self._all))
        return RecordPage({(row[0],): Heartbeat(*row) for row in rows})

    def append(self, rows: Sequence[Heartbeat]) -> int:
        def act(session: Session) -> None:
            keys = sorted((one.host_id,) for one in rows)
            there = {int(row[0]) for row in session.send_rows(self._known, keys).rows}
            # In one order, so that two processes do not wait for each other.
            beats = sorted((one.host_id, one.heard_at) for one in rows)
            old = [(at, host_id) for host_id, at in beats if host_id in there]
            new = [one for one in beats if one[0] not in there]
            if old:
                session.send_rows(self._update, old)
            if new:
                session.send_rows(self._insert, new)

        if not rows:
            return 0
        try:
            self._beside.run(act)
        except StoreFailed as error:
            if not isinstance(error.__cause__, DefiniteAbort | ForeignWrite):
                raise
            # Another process has just inserted rows of the same hosts.
            self._beside.run(act)
        return 0

    def trim(self, drop: Collection[int]) -> Trimmed:
        keys = [(host_id,) for host_id in sorted(drop)]
        if keys:
            self._beside.run(lambda session: session.send_rows(self._delete, keys))
        return Trimmed(len(keys), 0)
