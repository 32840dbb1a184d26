"""The table ``gantt_heartbeats``: when each host was heard of last.

Beside the books: a heartbeat says nothing new, and would fill the log if it were a
revision. A row is short, and there is one for each host.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from sqlalchemy import select

from gantt.errors import StoreFailed
from gantt.store.background.beside_books import BesideBooks
from gantt.store.database import Database
from gantt.store.outcomes import DefiniteAbort, ForeignWrite
from gantt.store.session import Counter, Readers, Session
from gantt.store.tables import gantt_heartbeats

_TABLE = gantt_heartbeats


class HeartbeatTable:
    """Implements Heartbeats. ``committer``: the lock of this process's committer."""

    def __init__(
        self,
        database: Database,
        readers: Readers,
        counter: Counter,
        committer: threading.Lock,
    ) -> None:
        self._readers = readers
        self._writer = BesideBooks(database, readers, counter, committer)
        bulk = database.bulk
        columns = ("host_id", "heard_at")
        self._all = database.compile(select(*(_TABLE.c[name] for name in columns))).text
        self._known = bulk.select(_TABLE, ("host_id",), "host_id")
        self._insert = bulk.insert(_TABLE, columns)
        self._update = bulk.update(_TABLE, ("heard_at",), ("host_id",))
        self._delete = bulk.delete(_TABLE, ("host_id",))

    def find(self) -> dict[int, int]:
        rows = self._readers.read(lambda session: session.all(self._all))
        return {int(host_id): int(heard_at) for host_id, heard_at in rows}

    def put(self, heard: Mapping[int, int]) -> None:
        def act(session: Session) -> None:
            keys = [(host_id,) for host_id in sorted(heard)]
            there = {int(row[0]) for row in session.send_rows(self._known, keys).rows}
            old = [(heard[key], key) for key in sorted(there)]
            new = [(key, heard[key]) for key in sorted(heard.keys() - there)]
            if old:
                session.send_rows(self._update, old)
            if new:
                session.send_rows(self._insert, new)

        if not heard:
            return
        try:
            self._writer.run(act)
        except StoreFailed as error:
            if not isinstance(error.__cause__, DefiniteAbort | ForeignWrite):
                raise
            # Another process has just inserted rows of the same hosts.
            self._writer.run(act)

    def drop(self, host_ids: Iterable[int]) -> None:
        keys = [(host_id,) for host_id in sorted(host_ids)]
        if keys:
            self._writer.run(lambda session: session.send_rows(self._delete, keys))
