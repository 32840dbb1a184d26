"""The database that the engines of a run share: in memory, or a real one.

Separate from the run, which only needs a store per process and, at the end, the truth:
the whole log and the tables, read without faults.
"""

from __future__ import annotations

from typing import Protocol

from gantt.errors import Refused
from gantt.model.changes import Cursor, LogEntry
from gantt.model.rows import ROW_TYPES, key_of
from gantt.store import open_store
from gantt.store.database import open_database
from gantt.store.interface import Store, StoreOptions
from tests.simulation.history import Tables, empty_tables
from tests.simulation.place import Place
from tests.simulation.shared import Books, SharedStore
from tests.simulation.sql import WiredStore, Wires
from tests.simulation.world import World

_ALL = 1_000_000_000
_MARK = "sim"
_FORGOTTEN = (
    "gantt_usage_history",
    "gantt_zone_usage",
    "gantt_decisions",
    "gantt_shadow",
    "gantt_heartbeats",
)


class Shared(Protocol):
    """One database for all processes of a run."""

    def store(self, place: Place) -> Store:
        """The connections of one process."""

    def cut(self, place: Place, store: Store) -> None:
        """The process was killed."""

    def log(self) -> list[LogEntry]:
        """All revisions, compacted ones included."""

    def tables(self) -> Tables:
        """All rows as they are."""

    def close(self) -> None:
        """Close it."""


class InMemory:
    """Books in this process."""

    def __init__(
        self, world: World, options: StoreOptions, *, is_galera: bool = False
    ) -> None:
        self._books = Books(world, is_galera=is_galera)
        self._options = options

    def store(self, place: Place) -> Store:
        return SharedStore(self._books, place, self._options)

    def cut(self, place: Place, store: Store) -> None:
        del store
        holder = self._books.holder
        if holder is not None and holder.store.place is place:
            holder.hang_up()

    def log(self) -> list[LogEntry]:
        return self._books.history

    def tables(self) -> Tables:
        return self._books.tables

    def close(self) -> None:
        """Nothing is held."""


class OnDatabase:
    """A real database, emptied first: so its name must contain "sim"."""

    def __init__(self, url: str, options: StoreOptions) -> None:
        """Raises Refused."""
        self._url = url
        if _MARK not in url.rpartition("/")[2]:
            raise Refused(
                f"The simulator empties its database, and the name of {url} does not "
                f'say that it may: make one with "{_MARK}" in its name.'
            )
        witness = StoreOptions(create=True, tail_limit=_ALL, pool_size=2)
        self._witness = open_store(url, witness)
        self._witness.close()
        _empty(url)
        self._witness = open_store(url, StoreOptions(tail_limit=_ALL, pool_size=2))
        self._wires = Wires(options)
        self._wires.before_compaction = self._take_down
        self._log: list[LogEntry] = []

    def store(self, place: Place) -> Store:
        return WiredStore(self._url, place, self._wires)

    def cut(self, place: Place, store: Store) -> None:
        del place
        if isinstance(store, WiredStore):
            store.cut()

    def log(self) -> list[LogEntry]:
        self._take_down()
        return self._log

    def _take_down(self) -> None:
        """Read new rows of the log before they are dropped."""
        last = self._log[-1] if self._log else None
        after = Cursor(last.revision, last.batch) if last else Cursor()
        tail = self._witness.tail(after)
        assert tail is not None, f"the log does not continue {after}"
        self._log.extend(tail)

    def tables(self) -> Tables:
        found = empty_tables()
        _, chunks = self._witness.load()
        for table, rows in chunks:
            found[table].update({key_of(row): row for row in rows})
        return found

    def close(self) -> None:
        self._witness.close()


def _empty(url: str) -> None:
    database = open_database(url, StoreOptions())
    pooled = database.connect()
    cursor = pooled.cursor()
    cursor.execute(
        "UPDATE resource_providers SET parent_provider_id = NULL, "
        "root_provider_id = NULL"
    )
    for table in (*reversed(ROW_TYPES), "gantt_log", *_FORGOTTEN):
        cursor.execute(f"DELETE FROM {table}")
    cursor.execute("UPDATE gantt_head SET compacted_to = 0")
    cursor.execute("DELETE FROM gantt_leader")
    cursor.execute("UPDATE gantt_fingerprint SET revision = -1")
    cursor.close()
    pooled.commit()
    pooled.close()
    database.close()
