"""A fleet as it is at one moment, for code that runs without the state lock.

Apart from the fleet because a plug-in reads it while others write. What plug-ins have
read before (a column, an index) is copied at once, under the lock; anything else when
it is first read, for which the lock is taken again: it may be younger then.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

import numpy as np

from gantt.state.column import NO_ROW, Floats, Int32s
from gantt.state.domains import DomainColumns, Domains
from gantt.state.fact_table import Facts
from gantt.state.factors import Factor, Factors
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_tables import (
    BookingTable,
    HostAggregateTable,
    InstanceTable,
    ServerGroupTable,
    ServiceTable,
)
from gantt.state.host_table import HostTable, RowsByPlace
from gantt.state.promises import Promises
from gantt.state.tree_rooms import TreeRooms

_TABLES: Final[dict[str, type]] = {
    "services": ServiceTable,
    "facts": Facts,
    "aggregates": HostAggregateTable,
    "instances": InstanceTable,
    "groups": ServerGroupTable,
    "claims": BookingTable,
}
_INDEXES: Final = frozenset(
    {"row_by_id", "by_place", "_by_host", "_by_uuid", "rows_by_provider"}
)
_MOST_PATHS: Final = 32
_Lock: TypeAlias = AbstractContextManager[object]


class ColumnsRead:
    """What was read of earlier snapshots, so that the next one has it from the start:
    attributes by table, and paths of ``HostTable.factor``."""

    def __init__(self) -> None:
        self.of: dict[str, set[str]] = {name: set() for name in (*_TABLES, "hosts")}
        self._paths: dict[tuple[str, ...], None] = {}

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The paths that were read, the one that was first read first."""
        return tuple(self._paths)

    def note_path(self, path: tuple[str, ...]) -> None:
        """The oldest is forgotten where there are too many: requests make them up."""
        if path not in self._paths:
            while len(self._paths) >= _MOST_PATHS:
                del self._paths[next(iter(self._paths))]
            self._paths[path] = None


class FleetSnapshot(Fleet):
    """A copy of ``live`` that nothing changes, without its journal; make it under
    ``lock``, the state lock."""

    def __init__(self, live: Fleet, wanted: ColumnsRead, lock: _Lock) -> None:
        self.context_touched = live.context_touched
        self.others_touched = live.others_touched
        self.rooms = live.rooms and RoomsSnapshot(live.rooms, lock)
        self.domains = live.domains and DomainsSnapshot(live.domains, lock)
        self.hosts = HostsSnapshot(live.hosts, wanted, lock)
        for name in _TABLES:
            table = getattr(live, name)
            self.__dict__[name] = _SNAPSHOTS[name](table, wanted.of[name], lock)


class _Copying:
    """A table whose attributes are copies of those of ``live``; ``wanted``: those that
    are copied at once."""

    def __init__(self, live: object, wanted: set[str], lock: _Lock) -> None:
        self._live, self._wanted, self._lock = live, wanted, lock
        for name in tuple(wanted):
            self.__dict__[name] = copied(getattr(live, name))

    def __getattr__(self, name: str) -> Any:
        # Only what is not copied yet comes here.
        if name.startswith("__") or name not in vars(self._live):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        self._wanted.add(name)
        with self._lock:
            found = self.__dict__[name] = copied(getattr(self._live, name))
        return found


_SNAPSHOTS: Final[dict[str, Any]] = {
    name: type(f"{table.__name__}Snapshot", (_Copying, table), {})
    for name, table in _TABLES.items()
}


class HostsSnapshot(_Copying, HostTable):
    """A copy of the table of hosts; columns are read-only. Indexes are made of these,
    and not copied."""

    def __init__(self, live: HostTable, wanted: ColumnsRead, lock: _Lock) -> None:
        super().__init__(live, wanted.of["hosts"], lock)
        self.height, self.count = live.height, live.count
        self.structure = live.structure
        self._paths = wanted
        self._factors = Factors()
        for path in wanted.paths:
            self._factors.add(copied(live.factor(*path)))

    def factor(self, *path: str) -> Factor:
        self._paths.note_path(path)
        return super().factor(*path)

    def __getattr__(self, name: str) -> Any:
        if name not in _INDEXES:
            return super().__getattr__(name)
        rows = self.live_rows().tolist()
        self.row_by_id = {int(self.id[row]): row for row in rows}
        self.by_place = RowsByPlace(
            {(self.hosts[row], self.nodes[row]): row for row in rows}
        )
        self._by_host = _index({row: self.hosts[row] for row in rows})
        self._by_uuid = _index({row: self.uuids[row] for row in rows})
        self.rows_by_provider = _index({row: int(self.provider[row]) for row in rows})
        return self.__dict__[name]


class RoomsSnapshot(TreeRooms):
    """What is left in trees as it is when it is asked: the books are not copied."""

    def __init__(self, live: TreeRooms, lock: _Lock) -> None:
        self._live, self._lock = live, lock

    def left(self, roots: Int32s, resource_class: str) -> Floats:
        with self._lock:
            return self._live.left(roots, resource_class)


class DomainsSnapshot(DomainColumns):
    """Columns of topology keys as they are when they are asked for: a column that was
    made never changes."""

    def __init__(self, live: DomainColumns, lock: _Lock) -> None:
        self._live, self._lock = live, lock

    def of(self, key: str) -> Domains:
        with self._lock:
            return self._live.of(key)


def _index(keys: dict[int, Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for row, key in keys.items():
        if key not in (None, NO_ROW):
            found.setdefault(key, []).append(row)
    return found


def copied(value: Any) -> Any:
    """A copy with containers of its own, two deep; rows and reports are values, which
    nothing changes in place."""
    if isinstance(value, np.ndarray):
        array = value.copy()
        array.flags.writeable = False
        return array
    if isinstance(value, dict):
        if isinstance(next(iter(value.values()), None), dict | list):
            return {key: inner.copy() for key, inner in value.items()}
        return value.copy()
    if isinstance(value, list):
        if isinstance(next(iter(value), None), Promises):
            return [one.copy() for one in value]
        return value.copy()
    if not hasattr(value, "__dict__"):
        return value
    copy = object.__new__(type(value))
    copy.__dict__.update({name: copied(one) for name, one in vars(value).items()})
    return copy
