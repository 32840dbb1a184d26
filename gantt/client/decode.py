"""Placement's answers as Gantt's values; the mirror of the formatting in the API.

Separate from the client so that the shape of every answer is in one place. Times come
from the last-modified header, to the second; listings carry none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from msgspec import Struct

from gantt import errors
from gantt.client.transport import Reply
from gantt.model.answers import (
    Candidate,
    Candidates,
    ConsumerShare,
    ConsumerView,
    Name,
    Provider,
    ProviderAggregates,
    ProviderAllocations,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
    ProviderUsages,
    Report,
    ResourceSummary,
    Share,
    TypeUsages,
)
from gantt.model.commands import Inventory
from gantt.model.diagnosis import Diagnosis
from gantt.model.hosts import HostAggregate, HostView
from gantt.model.names import UNKNOWN_CONSUMER_TYPE
from gantt.model.scheduling import Selections
from gantt.model.selection import Capacity, Decision
from gantt.model.usage_history import UsageRecord
from gantt.model.watching import Events

GENERATION = "resource_provider_generation"

P = ParamSpec("P")
T = TypeVar("T")


def understood(
    function: Callable[Concatenate[Reply, P], T],
) -> Callable[Concatenate[Reply, P], T]:
    """Raise Unavailable when an answer is not of the form that was expected."""

    @functools.wraps(function)
    def decode(reply: Reply, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(reply, *args, **kwargs)
        # What comes of picking things out of JSON that holds other things.
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise errors.Unavailable(
                f"The service answered {reply.status} with something else than was "
                f"expected ({type(error).__name__}: {error}). Check that the address "
                "is one of a Placement service."
            ) from error

    return decode


def _document(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def modified_at(reply: Reply) -> int | None:
    """The last-modified header in microseconds since the epoch."""
    text = reply.headers.get("last-modified")
    if text is None:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000
    except ValueError:
        return None


@understood
def provider(reply: Reply) -> Provider:
    """One resource provider."""
    return _provider(_document(reply), modified_at(reply))


@understood
def providers(reply: Reply) -> tuple[Provider, ...]:
    """A listing of resource providers."""
    found = _document(reply)["resource_providers"]
    return tuple(_provider(each, None) for each in found)


def _provider(found: dict[str, Any], at: int | None) -> Provider:
    return Provider(
        uuid=found["uuid"],
        name=found["name"],
        generation=found["generation"],
        parent_uuid=found["parent_provider_uuid"],
        root_uuid=found["root_provider_uuid"],
        modified_at=at,
    )


@understood
def generation(reply: Reply) -> int:
    """The provider's generation, which every answer about a part of it contains."""
    return int(_document(reply)[GENERATION])


@understood
def provider_usages(reply: Reply) -> ProviderUsages:
    """What of a provider is in use."""
    found = _document(reply)
    return ProviderUsages(found[GENERATION], dict(found["usages"]))


@understood
def traits(reply: Reply) -> tuple[str, ...]:
    """A listing of traits."""
    return tuple(_document(reply)["traits"])


@understood
def resource_classes(reply: Reply) -> tuple[Name, ...]:
    """A listing of resource classes."""
    return tuple(Name(each["name"]) for each in _document(reply)["resource_classes"])


@understood
def inventories(reply: Reply) -> ProviderInventories:
    """All inventories of a provider."""
    found = _document(reply)
    return ProviderInventories(
        generation=found[GENERATION],
        inventories={
            name: _inventory(record) for name, record in found["inventories"].items()
        },
        modified_at=modified_at(reply),
    )


@understood
def provider_aggregates(reply: Reply) -> ProviderAggregates:
    """The aggregates of a provider."""
    found = _document(reply)
    return ProviderAggregates(found[GENERATION], tuple(found["aggregates"]))


@understood
def provider_traits(reply: Reply) -> ProviderTraits:
    """The traits of a provider."""
    found = _document(reply)
    traits = tuple(found["traits"])
    at = modified_at(reply) if traits else None
    return ProviderTraits(found[GENERATION], traits, at)


@understood
def one_inventory(reply: Reply, resource_class: str) -> ProviderInventories:
    """The answer to a write of one class: that class alone."""
    found = _document(reply)
    return ProviderInventories(
        generation=found[GENERATION],
        inventories={resource_class: _inventory(found)},
        modified_at=modified_at(reply),
    )


def _inventory(record: dict[str, Any]) -> Inventory:
    return msgspec.convert(record, Inventory, strict=False)


@understood
def consumer(reply: Reply) -> ConsumerView | None:
    """The allocations of a consumer; None when it has none."""
    found = _document(reply)
    if not found["allocations"]:
        return None
    kind = found.get("consumer_type")  # before 1.38 there is none
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


@understood
def provider_allocations(reply: Reply) -> ProviderAllocations:
    """All allocations on a provider."""
    found = _document(reply)
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


@understood
def usages(reply: Reply) -> dict[str, TypeUsages]:
    """Sums by consumer type."""
    return {
        kind: TypeUsages(
            consumer_count=sums["consumer_count"],
            usages={
                name: used for name, used in sums.items() if name != "consumer_count"
            },
        )
        for kind, sums in _document(reply)["usages"].items()
    }


@understood
def candidates(reply: Reply) -> Candidates:
    """Allocation candidates with the summaries of the providers they speak of."""
    found = _document(reply)
    return Candidates(
        candidates=tuple(_candidate(each) for each in found["allocation_requests"]),
        summaries={
            uuid: _summary(each) for uuid, each in found["provider_summaries"].items()
        },
    )


@understood
def diagnosis(reply: Reply) -> Diagnosis:
    """Why there are no candidates."""
    return msgspec.json.decode(reply.body, type=Diagnosis)


@understood
def report(reply: Reply) -> Report:
    """What a service found when it verified itself."""
    return msgspec.json.decode(reply.body, type=Report)


class _Selected(Struct):
    selections: Selections


class _Decisions(Struct):
    decisions: tuple[Decision, ...]


class _UsageHistory(Struct):
    usage_history: tuple[UsageRecord, ...]


class _Hosts(Struct):
    hosts: tuple[HostView, ...]


class _Aggregates(Struct):
    aggregates: tuple[HostAggregate, ...]


class _Synced(Struct):
    known: bool


@understood
def selections(reply: Reply) -> Selections:
    """Hosts of instances."""
    return msgspec.json.decode(reply.body, type=_Selected).selections


@understood
def decision(reply: Reply) -> Decision:
    """A record of a decision."""
    return msgspec.json.decode(reply.body, type=Decision)


@understood
def decisions(reply: Reply) -> tuple[Decision, ...]:
    """A listing of records."""
    return msgspec.json.decode(reply.body, type=_Decisions).decisions


@understood
def usage_history(reply: Reply) -> tuple[UsageRecord, ...]:
    """Records of what was used."""
    return msgspec.json.decode(reply.body, type=_UsageHistory).usage_history


@understood
def capacity(reply: Reply) -> Capacity:
    """How many more fit."""
    return msgspec.json.decode(reply.body, type=Capacity)


@understood
def host(reply: Reply) -> HostView:
    """A host as it is known."""
    return msgspec.json.decode(reply.body, type=HostView)


@understood
def hosts(reply: Reply) -> tuple[HostView, ...]:
    """A listing of hosts."""
    return msgspec.json.decode(reply.body, type=_Hosts).hosts


@understood
def host_aggregates(reply: Reply) -> tuple[HostAggregate, ...]:
    """A listing of aggregates of hosts."""
    return msgspec.json.decode(reply.body, type=_Aggregates).aggregates


@understood
def events(reply: Reply) -> Events:
    """A page of events."""
    return msgspec.json.decode(reply.body, type=Events)


@understood
def synced(reply: Reply) -> bool:
    """Whether the instances of a host were known."""
    return msgspec.json.decode(reply.body, type=_Synced).known


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
