"""The named methods of the library: each is one read or one submit.

They only translate a name that a caller can guess into a query or a command;
``gantt.model.protocol`` documents each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import UNSET, UnsetType

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Reader
from gantt.engine.uuids import new_uuid
from gantt.errors import NotFound
from gantt.model import answers as a
from gantt.model import commands as c
from gantt.model.forms import scalars, values
from gantt.model.names import canonical, is_canonical
from gantt.model.requests import ProviderQuery, TraitQuery, UsageQuery
from gantt.placement import queries
from gantt.placement.usages import total_usages

T = TypeVar("T")


class Books:
    """The books of a fleet, by name."""

    def __init__(self, reader: Reader, committer: Committer) -> None:
        self._reader = reader
        self._committer = committer

    # -- providers ----------------------------------------------------------------

    def list_providers(
        self, query: ProviderQuery = ProviderQuery()
    ) -> tuple[a.Provider, ...]:
        is_narrow = query.uuid or query.name or query.in_tree
        read = self._reader.read if is_narrow else self._reader.search
        return read(queries.providers, query)

    def get_provider(self, uuid: str) -> a.Provider:
        return _found(self._reader.read(queries.provider, uuid), uuid)

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> a.Provider:
        uuid = scalars.uuid("uuid", uuid) if uuid else new_uuid()
        return self._committer.submit(c.CreateProvider(uuid, name, parent_uuid))

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> a.Provider:
        return self._committer.submit(c.UpdateProvider(uuid, name, parent_uuid))

    def delete_provider(self, uuid: str) -> None:
        self._committer.submit(c.DeleteProvider(uuid))

    # -- inventories and usages ---------------------------------------------------

    def get_inventories(self, provider_uuid: str) -> a.ProviderInventories:
        return _found(
            self._reader.read(queries.inventories, provider_uuid), provider_uuid
        )

    def set_inventories(
        self,
        provider_uuid: str,
        inventories: Mapping[str, c.Inventory],
        *,
        generation: int | None = None,
    ) -> a.ProviderInventories:
        command = c.SetInventories(provider_uuid, dict(inventories), generation)
        return self._committer.submit(command)

    def set_inventory(
        self, provider_uuid: str, resource_class: str, inventory: c.Inventory
    ) -> a.ProviderInventories:
        command = c.PutInventory(provider_uuid, resource_class, inventory)
        return self._committer.submit(command)

    def delete_inventory(self, provider_uuid: str, resource_class: str) -> None:
        self._committer.submit(c.DeleteInventory(provider_uuid, resource_class))

    def delete_inventories(self, provider_uuid: str) -> None:
        self._committer.submit(c.DeleteInventories(provider_uuid))

    def get_usages(self, provider_uuid: str) -> a.ProviderUsages:
        return _found(self._reader.read(queries.usages, provider_uuid), provider_uuid)

    def total_usages(self, query: UsageQuery) -> dict[str, a.TypeUsages]:
        return self._reader.search(total_usages, query)

    # -- aggregates, traits, classes ----------------------------------------------

    def get_aggregates(self, provider_uuid: str) -> a.ProviderAggregates:
        return _found(
            self._reader.read(queries.aggregates, provider_uuid), provider_uuid
        )

    def set_aggregates(
        self,
        provider_uuid: str,
        aggregates: Iterable[str],
        *,
        generation: int | None = None,
    ) -> a.ProviderAggregates:
        command = c.SetAggregates(provider_uuid, tuple(aggregates), generation)
        return self._committer.submit(command)

    def get_traits(self, provider_uuid: str) -> a.ProviderTraits:
        return _found(self._reader.read(queries.traits, provider_uuid), provider_uuid)

    def set_traits(
        self,
        provider_uuid: str,
        traits: Iterable[str],
        *,
        generation: int | None = None,
    ) -> a.ProviderTraits:
        command = c.SetTraits(provider_uuid, tuple(traits), generation)
        return self._committer.submit(command)

    def list_traits(self, query: TraitQuery = TraitQuery()) -> tuple[a.Name, ...]:
        return self._reader.read(queries.trait_names, query)

    def create_trait(self, name: str) -> a.Created:
        return self._committer.submit(c.CreateTrait(name))

    def delete_trait(self, name: str) -> None:
        self._committer.submit(c.DeleteTrait(name))

    def list_resource_classes(self) -> tuple[a.Name, ...]:
        return self._reader.read(queries.resource_classes)

    def create_resource_class(self, name: str) -> a.Created:
        return self._committer.submit(c.CreateResourceClass(name))

    def delete_resource_class(self, name: str) -> None:
        self._committer.submit(c.DeleteResourceClass(name))

    # -- allocations and candidates -----------------------------------------------

    def get_allocations(self, consumer_uuid: str) -> a.ConsumerView | None:
        uuid = self._as_known(consumer_uuid)
        return self._reader.read(queries.allocations, uuid)

    def set_allocations(self, consumers: Iterable[c.ConsumerAllocations]) -> None:
        said = values.consumers(consumers, self._is_known)
        self._committer.submit(c.SetAllocations(said))

    def delete_allocations(self, consumer_uuid: str) -> None:
        self._committer.submit(c.DeleteAllocations(self._as_known(consumer_uuid)))

    def get_provider_allocations(self, provider_uuid: str) -> a.ProviderAllocations:
        answer = self._reader.read(queries.provider_allocations, provider_uuid)
        return _found(answer, provider_uuid)

    def reshape(
        self,
        providers: Iterable[c.ReshapedProvider],
        consumers: Iterable[c.ConsumerAllocations],
    ) -> None:
        said = values.consumers(consumers, self._is_known)
        self._committer.submit(c.Reshape(tuple(providers), said))

    def _is_known(self, consumer_uuid: str) -> bool:
        found = self._reader.read(queries.allocations, consumer_uuid)
        return found is not None

    def _as_known(self, consumer_uuid: str) -> str:
        """Canonical, unless it came through Placement's wire as it is written."""
        if is_canonical(consumer_uuid) or self._is_known(consumer_uuid):
            return consumer_uuid
        return canonical(consumer_uuid)


def _found(answer: T | None, uuid: str) -> T:
    if answer is None:
        raise NotFound(f"No resource provider with uuid {uuid} found")
    return answer
