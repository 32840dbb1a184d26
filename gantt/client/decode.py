"""A service's answers as Gantt's values; the mirror of the formatting in the API.

Separate from the client so that the shape of every answer is in one place. Times come
from the last-modified header, to the second; listings carry none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace

from gantt import errors
from gantt.client.transport import Reply
from gantt.model.answers import (
    Candidate,
    Candidates,
    ConsumerView,
    Name,
    Provider,
    ProviderAllocations,
    ProviderInventories,
    ProviderSummary,
    ProviderTraits,
    TypeUsages,
)
from gantt.model.names import UNKNOWN_CONSUMER_TYPE

GENERATION = "resource_provider_generation"
# Placement's name of a field -> ours.
_FIELDS = {
    GENERATION: "generation",
    "consumer_generation": "generation",
    "parent_provider_uuid": "parent_uuid",
    "root_provider_uuid": "root_uuid",
}

P = ParamSpec("P")
T = TypeVar("T")


def understood(
    function: Callable[Concatenate[Reply, P], T],
) -> Callable[Concatenate[Reply, P], T]:
    """Raise Unavailable if an answer does not have the expected form."""

    @functools.wraps(function)
    def decode(reply: Reply, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(reply, *args, **kwargs)
        # Raised by looking up parts of JSON that has another form.
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise errors.Unavailable(
                f"The service answered {reply.status} in an unexpected form "
                f"({type(error).__name__}: {error}). Check that the address "
                "is one of a Placement service."
            ) from error

    return decode


def _document(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def _value(found: Any, kind: type[T], **more: object) -> T:
    """``kind`` from a document of Placement, and ``more`` of its fields."""
    return msgspec.convert({**_renamed(found), **more}, kind, strict=False)


def _renamed(found: Any) -> Any:
    if isinstance(found, dict):
        return {_FIELDS.get(key, key): _renamed(item) for key, item in found.items()}
    return found


def modified_at(reply: Reply) -> int | None:
    """The last-modified header in microseconds since the epoch."""
    text = reply.headers.get("last-modified")
    if text is None:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000
    except ValueError:
        return None


# -- Gantt's own API: bodies are values as they are -----------------------------------


@understood
def native(reply: Reply, kind: type[T]) -> T:
    """The whole body as ``kind``."""
    return msgspec.json.decode(reply.body, type=kind)


# -- Placement's API ------------------------------------------------------------------


@understood
def view(reply: Reply, kind: type[T]) -> T:
    """The whole body of Placement's as ``kind``."""
    return _value(_document(reply), kind)


@understood
def provider(reply: Reply) -> Provider:
    return _value(_document(reply), Provider, modified_at=modified_at(reply))


@understood
def providers(reply: Reply) -> tuple[Provider, ...]:
    found = _document(reply)["resource_providers"]
    return tuple(_value(each, Provider) for each in found)


@understood
def generation(reply: Reply) -> int:
    """The provider's generation, which every answer about a part of it contains."""
    return int(_document(reply)[GENERATION])


@understood
def traits(reply: Reply) -> tuple[str, ...]:
    return tuple(_document(reply)["traits"])


@understood
def resource_classes(reply: Reply) -> tuple[Name, ...]:
    return tuple(Name(each["name"]) for each in _document(reply)["resource_classes"])


@understood
def inventories(reply: Reply) -> ProviderInventories:
    at = modified_at(reply)
    return _value(_document(reply), ProviderInventories, modified_at=at)


@understood
def one_inventory(reply: Reply, resource_class: str) -> ProviderInventories:
    """The answer to a write of one class: that class alone."""
    found = _document(reply)
    whole = {GENERATION: found[GENERATION], "inventories": {resource_class: found}}
    return _value(whole, ProviderInventories, modified_at=modified_at(reply))


@understood
def provider_traits(reply: Reply) -> ProviderTraits:
    """The traits of a provider."""
    found = _value(_document(reply), ProviderTraits)
    return replace(found, modified_at=modified_at(reply)) if found.traits else found


@understood
def consumer(reply: Reply) -> ConsumerView | None:
    """The allocations of a consumer; None when it has none."""
    found = _document(reply)
    if not found["allocations"]:
        return None
    kind = found.get("consumer_type")  # absent before 1.38
    known = None if kind == UNKNOWN_CONSUMER_TYPE else kind
    at = modified_at(reply)
    return _value(found, ConsumerView, consumer_type=known, created_at=at)


@understood
def provider_allocations(reply: Reply) -> ProviderAllocations:
    found = _value(_document(reply), ProviderAllocations)
    return replace(found, created_at=modified_at(reply)) if found.allocations else found


@understood
def usages(reply: Reply) -> dict[str, TypeUsages]:
    return {
        kind: TypeUsages(sums.pop("consumer_count"), sums)
        for kind, sums in _document(reply)["usages"].items()
    }


@understood
def candidates(reply: Reply) -> Candidates:
    """Allocation candidates with the summaries of their providers."""
    found = _document(reply)
    return Candidates(
        candidates=tuple(_candidate(each) for each in found["allocation_requests"]),
        summaries={
            uuid: _value(each, ProviderSummary)
            for uuid, each in found["provider_summaries"].items()
        },
    )


def _candidate(found: dict[str, Any]) -> Candidate:
    return Candidate(
        allocations={
            uuid: share["resources"] for uuid, share in found["allocations"].items()
        },
        mappings={suffix: tuple(uuids) for suffix, uuids in found["mappings"].items()},
    )
