"""Resource providers, traits and resource classes over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import Exchange, until_settled
from gantt.client.transport import Reply
from gantt.model.answers import (
    Created,
    Name,
    Provider,
    ProviderAggregates,
    ProviderInventories,
    ProviderTraits,
    ProviderUsages,
)
from gantt.model.commands import Inventory
from gantt.model.names import is_custom_name
from gantt.model.requests import ProviderQuery, TraitQuery

PROVIDERS = "resource_providers"

EVERY = ProviderQuery()
EVERY_TRAIT = TraitQuery()


class RemoteProviders:
    """The part of GanttProtocol for providers; it documents the methods."""

    _wire: Exchange

    def list_providers(self, query: ProviderQuery = EVERY) -> tuple[Provider, ...]:
        route = encode.query(encode.path(PROVIDERS), encode.provider_pairs(query))
        return decode.providers(self._wire.ask("GET", route))

    def get_provider(self, uuid: str) -> Provider:
        reply = self._wire.ask("GET", encode.path(PROVIDERS, uuid))
        return decode.provider(reply)

    def create_provider(
        self, name: str, *, uuid: str | None = None, parent_uuid: str | None = None
    ) -> Provider:
        optional = {"uuid": uuid, "parent_provider_uuid": parent_uuid}
        body = {key: value for key, value in optional.items() if value is not None}
        reply = self._wire.ask("POST", encode.path(PROVIDERS), {"name": name, **body})
        return decode.provider(reply)

    def update_provider(
        self, uuid: str, *, name: str, parent_uuid: str | UnsetType | None = UNSET
    ) -> Provider:
        body = {"name": name, "parent_provider_uuid": parent_uuid}
        if parent_uuid is UNSET:
            del body["parent_provider_uuid"]
        reply = self._wire.ask("PUT", encode.path(PROVIDERS, uuid), body)
        return decode.provider(reply)

    def delete_provider(self, uuid: str) -> None:
        self._wire.ask("DELETE", encode.path(PROVIDERS, uuid))

    def get_inventories(self, provider_uuid: str) -> ProviderInventories:
        return decode.inventories(self._get(provider_uuid, "inventories"))

    def set_inventories(
        self,
        provider_uuid: str,
        inventories: Mapping[str, Inventory],
        *,
        generation: int | None = None,
    ) -> ProviderInventories:
        body = {"inventories": encode.inventories_body(inventories)}
        reply = self._put(provider_uuid, "inventories", body, generation)
        return decode.inventories(reply)

    def set_inventory(
        self, provider_uuid: str, resource_class: str, inventory: Inventory
    ) -> ProviderInventories:
        body = encode.inventories_body({resource_class: inventory})[resource_class]

        def attempt() -> ProviderInventories:
            known = self.get_inventories(provider_uuid)
            stamped = {**body, decode.GENERATION: known.generation}
            route = _part(provider_uuid, "inventories")
            if resource_class in known.inventories:
                route += encode.path(resource_class)
                reply = self._wire.ask("PUT", route, stamped)
            else:
                stamped["resource_class"] = resource_class
                reply = self._wire.ask("POST", route, stamped)
            return decode.one_inventory(reply, resource_class)

        return until_settled(attempt)

    def delete_inventory(self, provider_uuid: str, resource_class: str) -> None:
        route = _part(provider_uuid, "inventories", resource_class)
        self._wire.ask("DELETE", route)

    def delete_inventories(self, provider_uuid: str) -> None:
        self._wire.ask("DELETE", _part(provider_uuid, "inventories"))

    def get_usages(self, provider_uuid: str) -> ProviderUsages:
        return decode.view(self._get(provider_uuid, "usages"), ProviderUsages)

    def get_aggregates(self, provider_uuid: str) -> ProviderAggregates:
        return decode.view(self._get(provider_uuid, "aggregates"), ProviderAggregates)

    def set_aggregates(
        self,
        provider_uuid: str,
        aggregates: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderAggregates:
        # The service would refuse duplicates, which are allowed in process.
        body = {"aggregates": list(dict.fromkeys(aggregates))}
        reply = self._put(provider_uuid, "aggregates", body, generation)
        return decode.view(reply, ProviderAggregates)

    def get_traits(self, provider_uuid: str) -> ProviderTraits:
        return decode.provider_traits(self._get(provider_uuid, "traits"))

    def set_traits(
        self,
        provider_uuid: str,
        traits: Iterable[str],
        *,
        generation: int | None = None,
    ) -> ProviderTraits:
        body = {"traits": list(dict.fromkeys(traits))}
        reply = self._put(provider_uuid, "traits", body, generation)
        return decode.provider_traits(reply)

    def _get(self, provider_uuid: str, part: str) -> Reply:
        return self._wire.ask("GET", _part(provider_uuid, part))

    def _put(
        self,
        provider_uuid: str,
        part: str,
        body: dict[str, Any],
        generation: int | None,
    ) -> Reply:
        """A PUT at ``generation``; None: at the one that the provider has now."""
        route = _part(provider_uuid, part)

        def attempt() -> Reply:
            now = decode.generation(self._wire.ask("GET", route))
            return self._wire.ask("PUT", route, {**body, decode.GENERATION: now})

        if generation is None:
            return until_settled(attempt)
        return self._wire.ask("PUT", route, {**body, decode.GENERATION: generation})


class RemoteNames:
    """The part of GanttProtocol for traits and resource classes."""

    _wire: Exchange

    def list_traits(self, query: TraitQuery = EVERY_TRAIT) -> tuple[Name, ...]:
        if query.names is not None and not query.names:
            return ()
        route = encode.query("/traits", encode.trait_pairs(query))
        found = decode.traits(self._wire.ask("GET", route))
        # Names and a prefix cannot travel together, and services may read "_" and "%"
        # in a prefix as wildcards: the prefix is checked again here.
        prefix = (query.prefix or "").upper()
        return tuple(Name(name) for name in found if name.upper().startswith(prefix))

    def create_trait(self, name: str) -> Created:
        return self._create("traits", name)

    def delete_trait(self, name: str) -> None:
        self._wire.ask("DELETE", encode.path("traits", name))

    def list_resource_classes(self) -> tuple[Name, ...]:
        return decode.resource_classes(self._wire.ask("GET", "/resource_classes"))

    def create_resource_class(self, name: str) -> Created:
        return self._create("resource_classes", name)

    def delete_resource_class(self, name: str) -> None:
        self._wire.ask("DELETE", encode.path("resource_classes", name))

    def _create(self, noun: str, name: str) -> Created:
        route = encode.path(noun, name)
        try:
            reply = self._wire.ask("PUT", route)
        except errors.NotFound:
            # A name with a slash, or an empty one, is an unknown route.
            if is_custom_name(name):
                raise
            raise errors.Invalid(
                f"{name!r} is not a custom name: it must start with CUSTOM_ and "
                "contain only A-Z, 0-9 and _."
            ) from None
        return Created(
            name=name, is_new=reply.status == 201, created_at=decode.modified_at(reply)
        )


def _part(provider_uuid: str, *names: str) -> str:
    return encode.path(PROVIDERS, provider_uuid, *names)
