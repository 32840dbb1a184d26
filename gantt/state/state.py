"""The State: every table together, and the one way in, ``apply``.

It knows rows and revisions, not where they come from: the committer applies what it
plans, a log tailer what it reads from the log, start-up what it loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.rows import (
    AllocationRow,
    ConsumerRow,
    FleetRow,
    HostRow,
    InstanceRow,
    InventoryRow,
    Key,
    LinkRow,
    ProviderRow,
    Row,
)
from gantt.state.allocation_columns import Allocations, Consumers
from gantt.state.bits import BitMatrix
from gantt.state.column import NO_ROW
from gantt.state.domains import DomainColumns
from gantt.state.fleet_columns import Fleet
from gantt.state.inventory_columns import Inventories
from gantt.state.name_table import Fold, NameTable, exact
from gantt.state.provider_columns import Providers
from gantt.state.tree_rooms import TreeRooms

# Changes of these may make a provider stand for other hosts than before.
_MOVING = frozenset({t.PROVIDERS, t.HOSTS})


class State:
    """All that is known at ``cursor``, whose revision is ``revision``. Not thread safe:
    the engine holds a lock.

    ``applied`` counts the calls of ``apply``. It stamps what they touch, rather than
    the revision does, because an aborted revision's number is given again.

    ``fold`` maps a name or uuid of the books to what the database compares of it: of
    two that are alike then it keeps one. None: every letter counts.
    """

    def __init__(self, fold: Fold | None = None) -> None:
        self.cursor, self.revision, self.applied = Cursor(), 0, 0
        self.fold: Fold = fold or exact
        self.classes = NameTable(fold)
        self.traits = NameTable(fold)
        self.aggregates = NameTable(fold)
        self.projects = NameTable(fold)
        self.users = NameTable(fold)
        self.consumer_types = NameTable(fold)
        self.providers = Providers(fold)
        self.inventories = Inventories()
        self.consumers = Consumers(fold)
        self.allocations = Allocations()
        self.provider_traits = BitMatrix()
        self.provider_aggregates = BitMatrix()
        self.fleet = Fleet()
        self.fleet.rooms = TreeRooms(self.providers, self.inventories, self.classes)
        self.domains = self.fleet.domains = DomainColumns(self)
        self._next_id: dict[str, int] = {}
        self.names: dict[str, NameTable] = {
            t.RESOURCE_CLASSES: self.classes,
            t.TRAITS: self.traits,
            t.AGGREGATES: self.aggregates,
            t.PROJECTS: self.projects,
            t.USERS: self.users,
            t.CONSUMER_TYPES: self.consumer_types,
        }
        self._labels: dict[str, tuple[BitMatrix, NameTable]] = {
            t.PROVIDER_TRAITS: (self.provider_traits, self.traits),
            t.PROVIDER_AGGREGATES: (self.provider_aggregates, self.aggregates),
        }
        # How a row of each table is taken in; they return the provider row touched.
        self._puts: dict[str, Callable[[Any], int | None]] = {
            **{table: names.put for table, names in self.names.items()},
            **dict.fromkeys(t.FLEET, self._put_fleet),
            t.PROVIDERS: self._put_provider,
            t.INVENTORIES: self._put_inventory,
            t.CONSUMERS: self.consumers.put,
            t.ALLOCATIONS: self._put_allocation,
            t.HOSTS: self._put_host,
        }

    def next_id(self, table: str) -> int:
        """The lowest id of ``table`` that was never seen here."""
        return self._next_id.get(table, 0 if table == t.RESOURCE_CLASSES else 1)

    # -- the way in ---------------------------------------------------------------

    def apply(self, changes: Iterable[Change], cursor: Cursor) -> None:
        """Take in what changed and stand at ``cursor``.

        Parents come before their children, and children go before their parents.
        """
        self.consumers.applied = self.applied = self.applied + 1
        providers = self.providers
        told: set[tuple[int, int]] = set()
        for change in changes:
            table = change.table
            if table in _MOVING:
                told.clear()
            touched = self._apply(table, change.key, change.new)
            if touched is not None:
                providers.touched[touched] = self.applied
                place = (touched, int(providers.root[touched]))
                if place not in told:
                    told.add(place)
                    self.fleet.provider_touched(*place, self.applied)
            elif table in (t.RESOURCE_CLASSES, t.TRAITS):
                providers.touched[: providers.height] = self.applied
        self.cursor, self.revision = cursor, cursor.revision

    def load(self, table: str, rows: list[Row]) -> None:
        """Take in rows of a snapshot, tables in the order of ROW_TYPES."""
        if not rows:
            return
        if table == t.PROVIDERS:
            self.providers.load(cast(list[ProviderRow], rows))
        elif table == t.CONSUMERS:
            self.consumers.load(cast(list[ConsumerRow], rows))
        elif table == t.ALLOCATIONS:
            self._load_allocations(cast(list[AllocationRow], rows))
        elif table == t.INSTANCES:
            self.fleet.load_instances(cast(list[InstanceRow], rows), self.applied)
        else:
            for row in rows:
                self._apply(table, t.key_of(row), row)
            return
        highest = max(row.id for row in cast(list[ProviderRow], rows))
        self._next_id[table] = max(highest + 1, self.next_id(table))

    def _apply(self, table: str, key: Key, new: Row | None) -> int | None:
        """The provider row whose answers change, if it is one."""
        if isinstance(key, tuple):
            return self._link(table, key, new is not None)
        if new is None:
            return self._remove(table, key)
        if key >= self._next_id.get(table, 0):
            self._next_id[table] = key + 1
        return self._puts[table](new)

    def _put_provider(self, values: ProviderRow) -> int:
        is_new = values.id not in self.providers.row_by_id
        row = self.providers.put(values)
        if is_new:
            self.fleet.provider_moved(values.uuid, row, self.applied)
        return row

    def _put_host(self, values: HostRow) -> None:
        uuid = values.uuid
        provider = None if uuid is None else self.providers.row_of(uuid)
        row = NO_ROW if provider is None else provider
        self.fleet.put_host(values, row, self.applied)

    def _put_fleet(self, values: FleetRow) -> None:
        self.fleet.put(values, self.applied)

    def _remove(self, table: str, key: int) -> int | None:
        if table in t.FLEET:
            self.fleet.remove(table, key, self.applied)
        elif table in self.names:
            self.names[table].remove(key)
        elif table == t.PROVIDERS:
            uuid = self.providers.uuids[self.providers.row_by_id[key]]
            self.providers.remove(key)
            self.fleet.provider_moved(uuid, NO_ROW, self.applied)
        elif table == t.INVENTORIES:
            return self.inventories.remove(key)
        elif table == t.CONSUMERS:
            self._forget(self.consumers.remove(key))
        else:
            return self._remove_allocation(key)
        return None

    def _link(self, table: str, key: tuple[int, int], is_set: bool) -> int:
        matrix, names = self._labels[table]
        provider = self.providers.row_by_id[key[0]]
        matrix.set(provider, names.index_by_id[key[1]], is_set)
        if names is self.traits and names.name_of_id(key[1]) == SHARES_VIA_AGGREGATE:
            self.providers.structure += 1
        return provider

    def _put_inventory(self, values: InventoryRow) -> int:
        provider = self.providers.row_by_id[values.resource_provider_id]
        class_index = self.classes.index_by_id[values.resource_class_id]
        is_new = values.id not in self.inventories.place_by_id
        used = self.allocations.used_on(provider, class_index) if is_new else 0
        self.inventories.put(values, provider, class_index, used)
        return provider

    def _put_allocation(self, values: AllocationRow) -> int:
        provider = self.providers.row_by_id[values.resource_provider_id]
        class_index = self.classes.index_by_id[values.resource_class_id]
        consumer = self.consumers.row_by_uuid.get(values.consumer_id)
        if consumer is None:
            consumer = self.consumers.ensure(values.consumer_id)
        self.consumers.touched[consumer] = self.applied
        more = self.allocations.put(values, provider, consumer, class_index)
        self.inventories.add_used(provider, class_index, more)
        return provider

    def _remove_allocation(self, key: int) -> int:
        provider, consumer, class_index, used = self.allocations.remove(key)
        self.consumers.touched[consumer] = self.applied
        self.inventories.add_used(provider, class_index, -used)
        self._forget(consumer)
        return provider

    def _forget(self, consumer: int) -> None:
        if self.allocations.by_consumer.is_empty(consumer):
            self.consumers.forget(consumer)

    def _load_allocations(self, rows: list[AllocationRow]) -> None:
        row_by_id, index_by_id = self.providers.row_by_id, self.classes.index_by_id
        providers = [row_by_id[row.resource_provider_id] for row in rows]
        classes = [index_by_id[row.resource_class_id] for row in rows]
        consumers = [self.consumers.ensure(row.consumer_id) for row in rows]
        self.allocations.load(rows, providers, consumers, classes)
        for provider, class_index, row in zip(providers, classes, rows, strict=True):
            self.inventories.add_used(provider, class_index, row.used)

    # -- rows back out ------------------------------------------------------------

    def get(self, table: str, key: Key) -> Row | None:
        """The row with this key. Link rows come without their times."""
        if isinstance(key, tuple):
            return self._get_link(table, key)
        if table in t.FLEET:
            return self.fleet.get(table, key)
        if table in self.names:
            return self.names[table].get(key)
        if table in (t.PROVIDERS, t.CONSUMERS):
            return (self.providers if table == t.PROVIDERS else self.consumers).get(key)
        if table == t.INVENTORIES:
            return self._get_inventory(key)
        row = self.allocations.row_by_id.get(key)
        return None if row is None else self.allocation_at(row)

    def allocation_at(self, row: int) -> AllocationRow:
        """The values of a live row of ``allocations``."""
        table = self.allocations
        return AllocationRow(
            int(table.id[row]),
            int(self.providers.id[table.provider[row]]),
            self.consumers.uuids[table.consumer[row]],
            self.classes.at(int(table.class_index[row])).id,
            int(table.amount[row]),
            *table.dates(row),
        )

    def rows(self, table: str) -> Iterator[Row]:
        """Every row of a table, by ascending key."""
        if table in t.FLEET:
            return self.fleet.rows(table)
        if table in self.names:
            return self.names[table].rows()
        if table in (t.PROVIDERS, t.CONSUMERS):
            return (self.providers if table == t.PROVIDERS else self.consumers).rows()
        if table in self._labels:
            return self._links(table)
        keys = (self.inventories if table == t.INVENTORIES else self.allocations).ids()
        return (cast(Row, self.get(table, key)) for key in keys)

    def _get_link(self, table: str, key: tuple[int, int]) -> LinkRow | None:
        matrix, names = self._labels[table]
        if self.providers.get(key[0]) is None or names.get(key[1]) is None:
            return None
        provider = self.providers.row_by_id[key[0]]
        if not matrix.has_any(provider, (names.index_by_id[key[1]],)):
            return None
        return LinkRow(key[0], key[1], None, None)

    def _get_inventory(self, key: int) -> InventoryRow | None:
        place = self.inventories.place_by_id.get(key)
        if place is None:
            return None
        class_index, slot = place
        table = self.inventories.table(class_index)
        assert table is not None
        provider = int(table.provider[slot])
        ids = int(self.providers.id[provider]), self.classes.at(class_index).id
        return self.inventories.find(provider, class_index, *ids)

    def _links(self, table: str) -> Iterator[LinkRow]:
        matrix, names = self._labels[table]
        for row in self.providers.by_age():
            provider_id = int(self.providers.id[row])
            for label_id in sorted(names.at(one).id for one in matrix.labels_of(row)):
                yield LinkRow(provider_id, label_id, None, None)
