"""Placement's answers as Gantt's values; the mirror of the formatting in the API.

Separate from the client so that the shape of every answer is in one place. Times come
from the last-modified header, to the second; listings carry none.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from gantt import errors
from gantt.client.transport import Reply
from gantt.model.answers import (
    Candidate,
    Candidates,
    ConsumerShare,
    ConsumerView,
    Provider,
    ProviderAggregates,
    ProviderAllocations,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
    ResourceSummary,
    Share,
    TypeUsages,
)
from gantt.model.commands import Inventory
from gantt.model.names import UNKNOWN_CONSUMER_TYPE

GENERATION = "resource_provider_generation"


def document(reply: Reply) -> Any:
    """The JSON of a reply. Raises Unavailable when it is none."""
    try:
        return msgspec.json.decode(reply.body)
    except msgspec.DecodeError as error:
        raise errors.Unavailable(
            f"The service answered {reply.status} with something that is not JSON "
            f"({error}). Check that the address is one of a Placement service."
        ) from error


def modified_at(reply: Reply) -> int | None:
    """The last-modified header in microseconds since the epoch."""
    text = reply.headers.get("last-modified")
    if text is None:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000
    except ValueError:
        return None


def provider(found: dict[str, Any], at: int | None = None) -> Provider:
    """One resource provider."""
    return Provider(
        uuid=found["uuid"],
        name=found["name"],
        generation=found["generation"],
        parent_uuid=found["parent_provider_uuid"],
        root_uuid=found["root_provider_uuid"],
        modified_at=at,
    )


def inventories(reply: Reply) -> ProviderInventories:
    """All inventories of a provider."""
    found = document(reply)
    return ProviderInventories(
        generation=found[GENERATION],
        inventories={
            name: inventory(record) for name, record in found["inventories"].items()
        },
        modified_at=modified_at(reply),
    )


def provider_aggregates(reply: Reply) -> ProviderAggregates:
    """The aggregates of a provider."""
    found = document(reply)
    return ProviderAggregates(found[GENERATION], tuple(found["aggregates"]))


def provider_traits(reply: Reply) -> ProviderTraits:
    """The traits of a provider."""
    found = document(reply)
    traits = tuple(found["traits"])
    at = modified_at(reply) if traits else None
    return ProviderTraits(found[GENERATION], traits, at)


def one_inventory(reply: Reply, resource_class: str) -> ProviderInventories:
    """The answer to a write of one class: that class alone."""
    found = document(reply)
    return ProviderInventories(
        generation=found[GENERATION],
        inventories={resource_class: inventory(found)},
        modified_at=modified_at(reply),
    )


def inventory(record: dict[str, Any]) -> Inventory:
    """One record; other keys beside it are left alone."""
    return msgspec.convert(record, Inventory, strict=False)


def consumer(reply: Reply) -> ConsumerView | None:
    """The allocations of a consumer; None when it has none."""
    found = document(reply)
    if not found["allocations"]:
        return None
    kind = found["consumer_type"]
    return ConsumerView(
        allocations={
            uuid: Share(resources=share["resources"], generation=share["generation"])
            for uuid, share in found["allocations"].items()
        },
        project_id=found["project_id"],
        user_id=found["user_id"],
        generation=found["consumer_generation"],
        consumer_type=None if kind == UNKNOWN_CONSUMER_TYPE else kind,
        created_at=modified_at(reply),
    )


def provider_allocations(reply: Reply) -> ProviderAllocations:
    """All allocations on a provider."""
    found = document(reply)
    return ProviderAllocations(
        generation=found[GENERATION],
        allocations={
            uuid: ConsumerShare(
                resources=share["resources"], generation=share["consumer_generation"]
            )
            for uuid, share in found["allocations"].items()
        },
        created_at=modified_at(reply) if found["allocations"] else None,
    )


def usages(reply: Reply) -> dict[str, TypeUsages]:
    """Sums by consumer type."""
    return {
        kind: TypeUsages(
            consumer_count=sums["consumer_count"],
            usages={
                name: used for name, used in sums.items() if name != "consumer_count"
            },
        )
        for kind, sums in document(reply)["usages"].items()
    }


def candidates(reply: Reply) -> Candidates:
    """Allocation candidates with the summaries of the providers they speak of."""
    found = document(reply)
    return Candidates(
        candidates=tuple(_candidate(each) for each in found["allocation_requests"]),
        summaries={
            uuid: _summary(each) for uuid, each in found["provider_summaries"].items()
        },
    )


def _candidate(found: dict[str, Any]) -> Candidate:
    return Candidate(
        allocations={
            uuid: share["resources"] for uuid, share in found["allocations"].items()
        },
        mappings={suffix: tuple(uuids) for suffix, uuids in found["mappings"].items()},
    )


def _summary(found: dict[str, Any]) -> ProviderSummary:
    return ProviderSummary(
        resources={
            name: ResourceSummary(capacity=each["capacity"], used=each["used"])
            for name, each in found["resources"].items()
        },
        traits=tuple(found["traits"]),
        parent_uuid=found["parent_provider_uuid"],
        root_uuid=found["root_provider_uuid"],
    )
