"""Converts data that a schema has allowed to typed bodies.

Only what the schema does not cover is checked. Whole numbers become int, except where
an answer echoes them. Only requests that were not well-formed at first sight come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import UNSET

from gantt.api.wire import typed as wire
from gantt.api.wire.schemas import CLASS_PATTERN
from gantt.errors import UnknownResourceClass
from gantt.model.names import MAX_INT

W = TypeVar("W")
C = TypeVar("C", bound=wire.Consumer13)
Build = Callable[[Any], W]

_GENERATION = "resource_provider_generation"


def as_is(data: Any) -> Any:
    """A bare list of names."""
    return data


def fields(kind: Callable[..., W]) -> Build[W]:
    """An object without numbers, or with a provider generation alone."""

    def build(data: Mapping[str, Any]) -> W:
        return kind(**_with_whole_generation(data))

    return build


def inventories(data: Mapping[str, Any]) -> wire.SetInventories:
    """All inventories of a provider. Raises UnknownName."""
    records: dict[str, wire.InventoryRecord] = {}
    for name, values in data["inventories"].items():
        # The schema does not cover keys that are not class names, and their values.
        if re.search(CLASS_PATTERN, name) is None:
            raise UnknownResourceClass(f"No such resource class {name}.")
        records[name] = wire.InventoryRecord(**_with_whole_generation(values))
    return wire.SetInventories(
        resource_provider_generation=int(data[_GENERATION]), inventories=records
    )


def listed(kind: Callable[..., W]) -> Build[W]:
    """Allocations in the form before 1.12."""

    def build(data: Mapping[str, Any]) -> W:
        shares = [
            wire.ListedShare(
                resource_provider=wire.ProviderRef(**item["resource_provider"]),
                resources=_amounts(item["resources"]),
            )
            for item in data["allocations"]
        ]
        return kind(**{**data, "allocations": shares})

    return build


def consumer(kind: Callable[..., C]) -> Build[C]:
    """Allocations of one consumer in the form since 1.12."""

    def build(data: Mapping[str, Any]) -> C:
        values = dict(data)
        values["allocations"] = {
            provider: wire.Share(
                resources=_amounts(share["resources"]),
                generation=(
                    int(share["generation"]) if "generation" in share else UNSET
                ),
            )
            for provider, share in data["allocations"].items()
        }
        if data.get("consumer_generation") is not None:
            values["consumer_generation"] = int(data["consumer_generation"])
        return kind(**values)

    return build


def consumers(kind: Callable[..., C]) -> Build[dict[str, C]]:
    build_one = consumer(kind)

    def build(data: Mapping[str, Any]) -> dict[str, C]:
        return {uuid: build_one(one) for uuid, one in data.items()}

    return build


def reshape(kind: Callable[..., W], of_consumer: Callable[..., C]) -> Build[W]:
    """Inventories and allocations at once. Raises UnknownName."""
    build_consumers = consumers(of_consumer)

    def build(data: Mapping[str, Any]) -> W:
        providers = {
            uuid: inventories(one) for uuid, one in data["inventories"].items()
        }
        allocations = build_consumers(data["allocations"])
        return kind(inventories=providers, allocations=allocations)

    return build


def _with_whole_generation(data: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(data)
    if _GENERATION in values:
        values[_GENERATION] = int(values[_GENERATION])
    return values


def _amounts(data: Mapping[str, Any]) -> dict[str, int]:
    # No inventory has more than MAX_INT units, so a greater amount fits nowhere.
    return {name: min(int(amount), MAX_INT + 1) for name, amount in data.items()}
