"""Rows of all tables by name: those that a client read, or the result of the log.

Separate from the columns, which have their own indexes: this reads plain rows, so that
the checker shares no index with the code that it checks.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

import msgspec

from gantt.model import rows as t
from gantt.model.commands import Inventory
from gantt.model.demand_queue import DemandEntry
from tests.simulation.history import Tables
from tests.simulation.reference import Reference

R = TypeVar("R")
Place = tuple[str, str]


class Snapshot:
    """One state of the books, as plain rows."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def rows(self, table: str, kind: type[R]) -> list[R]:
        """All rows of a table, by ascending key."""
        found = [row for _, row in sorted(self.tables[table].items())]
        assert all(isinstance(row, kind) for row in found)
        return found  # type: ignore[return-value]

    def demands(self) -> dict[str, DemandEntry]:
        """Those that wait, or waited, by uuid."""
        return {
            row.subject: msgspec.json.decode(row.reason or "", type=DemandEntry)
            for row in self.rows(t.FACTS, t.FactRow)
            if row.kind == "demand"
        }

    def names(self, table: str) -> dict[int, str]:
        """Id -> name."""
        return {row.id: row.name for row in self.rows(table, t.NameRow)}

    @cached_property
    def _providers(self) -> dict[int, t.ProviderRow]:
        return {row.id: row for row in self.rows(t.PROVIDERS, t.ProviderRow)}

    @cached_property
    def _by_uuid(self) -> dict[str, t.ProviderRow]:
        return {row.uuid: row for row in self._providers.values()}

    @cached_property
    def _consumers(self) -> dict[str, t.ConsumerRow]:
        return {row.uuid: row for row in self.rows(t.CONSUMERS, t.ConsumerRow)}

    @cached_property
    def stock(self) -> dict[Place, Inventory]:
        """(provider, class) -> its inventory."""
        classes = self.names(t.RESOURCE_CLASSES)
        return {
            (
                self._providers[row.resource_provider_id].uuid,
                classes[row.resource_class_id],
            ): Inventory(
                row.total,
                row.reserved,
                row.min_unit,
                row.max_unit,
                row.step_size,
                row.allocation_ratio,
            )
            for row in self.rows(t.INVENTORIES, t.InventoryRow)
        }

    @cached_property
    def _shares(self) -> dict[tuple[str, str, str], int]:
        """(consumer, provider, class) -> amount."""
        classes = self.names(t.RESOURCE_CLASSES)
        found: dict[tuple[str, str, str], int] = {}
        for row in self.rows(t.ALLOCATIONS, t.AllocationRow):
            provider = self._providers[row.resource_provider_id].uuid
            key = (row.consumer_id, provider, classes[row.resource_class_id])
            found[key] = found.get(key, 0) + row.used
        return found

    @cached_property
    def used(self) -> dict[Place, int]:
        """(provider, class) -> usage of all consumers."""
        found: dict[Place, int] = {}
        for (_, uuid, name), amount in self._shares.items():
            found[uuid, name] = found.get((uuid, name), 0) + amount
        return found

    def providers(self) -> list[str]:
        return sorted(self._by_uuid)

    def generation(self, uuid: str) -> int | None:
        row = self._by_uuid.get(uuid)
        return None if row is None else row.generation

    def places(self) -> list[Place]:
        return sorted(self.stock)

    def inventories(self, uuid: str) -> dict[str, Inventory]:
        return {name: one for (place, name), one in self.stock.items() if place == uuid}

    def consumers(self) -> list[str]:
        return sorted(self._consumers)

    def consumer_generation(self, uuid: str) -> int | None:
        row = self._consumers.get(uuid)
        return None if row is None else row.generation

    def shares(self, consumer: str) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for (owner, uuid, name), amount in self._shares.items():
            if owner == consumer:
                found.setdefault(uuid, {})[name] = amount
        return found

    # -- the fleet ----------------------------------------------------------------

    def hosts(self) -> dict[int, str]:
        """Id -> name."""
        return {row.id: row.host for row in self.rows(t.HOSTS, t.HostRow)}

    def provider_of(self, node: str) -> str | None:
        """The provider with the name of a node."""
        for row in self._by_uuid.values():
            if row.name == node:
                return row.uuid
        return None

    def claimed(self) -> list[str]:
        """Instances with claims."""
        return [row.instance_uuid for row in self.rows(t.BOOKINGS, t.BookingRow)]

    def claims_on(self, host: str) -> list[t.BookingRow]:
        ids = {key for key, name in self.hosts().items() if name == host}
        found = self.rows(t.BOOKINGS, t.BookingRow)
        return [row for row in found if row.host_id in ids]

    def claimed_on(self, host: str) -> list[str]:
        return [row.instance_uuid for row in self.claims_on(host)]

    def instances_on(self, host: str) -> list[str]:
        found = self.rows(t.INSTANCES, t.InstanceRow)
        return [row.uuid for row in found if row.host == host]

    # -- the reference model ------------------------------------------------------

    def reference(self) -> Reference:
        """The naive model with these rows."""
        model = Reference(str)
        for row in self._providers.values():
            parent = row.parent_provider_id
            model.names[row.uuid] = row.name
            model.generations[row.uuid] = row.generation
            above = None if parent is None else self._providers[parent].uuid
            model.parents[row.uuid] = above
        model.inventories = dict(self.stock)
        model.traits = self._labels(t.PROVIDER_TRAITS, t.TRAITS)
        model.aggregates = self._labels(t.PROVIDER_AGGREGATES, t.AGGREGATES)
        model.known_classes = list(self.names(t.RESOURCE_CLASSES).values())
        model.known_traits = set(self.names(t.TRAITS).values())
        model.allocations = dict(self._shares)
        projects, users = self.names(t.PROJECTS), self.names(t.USERS)
        kinds = self.names(t.CONSUMER_TYPES)
        for uuid, one in self._consumers.items():
            kind = one.consumer_type_id
            model.consumers[uuid] = (
                projects[one.project_id],
                users[one.user_id],
                one.generation,
                None if kind is None else kinds[kind],
            )
        return model

    def _labels(self, links: str, names: str) -> dict[str, set[str]]:
        known = self.names(names)
        found: dict[str, set[str]] = {uuid: set() for uuid in self._by_uuid}
        for row in self.rows(links, t.LinkRow):
            bearer = self._providers[row.resource_provider_id].uuid
            found[bearer].add(known[row.label_id])
        return found
