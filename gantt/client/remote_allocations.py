"""Consumers over HTTP: candidates, allocations, usages of projects, reshaping.

In process a consumer's generation and type may be left open. Older microversions leave
them open too, so the oldest that can express a write is used; if none can, the current
values are filled in, and the write is repeated after a lost race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from gantt import errors
from gantt.client import decode, encode
from gantt.client.exchange import NEWEST, Exchange, until_settled
from gantt.client.remote_providers import PROVIDERS
from gantt.model.answers import (
    Candidates,
    ConsumerView,
    ProviderAllocations,
    TypeUsages,
)
from gantt.model.commands import ConsumerAllocations, ReshapedProvider
from gantt.model.forms import values
from gantt.model.names import canonical, is_canonical, spellings
from gantt.model.requests import CandidateRequest, UsageQuery

RESHAPE_SINCE = "1.30"
WITHOUT_GENERATIONS = "1.27"
WITHOUT_TYPES = "1.37"

Lookup = Callable[[str], ConsumerView | None]


class RemoteAllocations:
    """The part of GanttProtocol for consumers; it documents the methods."""

    _wire: Exchange

    def get_allocations(self, consumer_uuid: str) -> ConsumerView | None:
        for uuid in spellings(consumer_uuid):
            route = encode.path("allocations", uuid)
            found = decode.consumer(self._wire.ask("GET", route))
            if found is not None:
                break
        return found

    def set_allocations(self, consumers: Iterable[ConsumerAllocations]) -> None:
        wanted = values.consumers(consumers, self._is_known)
        if wanted:
            version = version_for(wanted)
            self._claim("/allocations", wanted, version, lambda body: body)

    def delete_allocations(self, consumer_uuid: str) -> None:
        is_known = is_canonical(consumer_uuid) or self._is_known(consumer_uuid)
        uuid = consumer_uuid if is_known else canonical(consumer_uuid)
        self._wire.ask("DELETE", encode.path("allocations", uuid))

    def _is_known(self, consumer_uuid: str) -> bool:
        """Whether the books have it as it is written."""
        route = encode.path("allocations", consumer_uuid)
        return decode.consumer(self._wire.ask("GET", route)) is not None

    def get_provider_allocations(self, provider_uuid: str) -> ProviderAllocations:
        route = encode.path(PROVIDERS, provider_uuid, "allocations")
        return decode.provider_allocations(self._wire.ask("GET", route))

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """Also raises Invalid for requests that the wire cannot express."""
        route = encode.query("/allocation_candidates", encode.candidate_pairs(request))
        return decode.candidates(self._wire.ask("GET", route))

    def reshape(
        self,
        providers: Iterable[ReshapedProvider],
        consumers: Iterable[ConsumerAllocations],
    ) -> None:
        inventories = {
            each.provider_uuid: {
                decode.GENERATION: each.generation,
                "inventories": encode.inventories_body(each.inventories),
            }
            for each in providers
        }
        wanted = values.consumers(consumers, self._is_known)
        version = version_for(wanted, oldest=RESHAPE_SINCE)
        self._claim(
            "/reshaper",
            wanted,
            version,
            lambda body: {"inventories": inventories, "allocations": body},
        )

    def total_usages(self, query: UsageQuery) -> dict[str, TypeUsages]:
        route = encode.query("/usages", encode.usage_pairs(query))
        found = decode.usages(self._wire.ask("GET", route))
        if query.by_type:
            return found
        # The wire names the requested type; here it is a sum like any other.
        return dict(zip(("all",), found.values(), strict=False))

    def _claim(
        self,
        route: str,
        consumers: Sequence[ConsumerAllocations],
        version: str,
        wrap: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        """POST ``consumers`` in the body that ``wrap`` makes, at ``version``."""

        def attempt() -> None:
            filled = filled_in(consumers, version, self.get_allocations)
            body = wrap(encode.consumers_body(filled))
            self._wire.ask("POST", route, body, version=version)

        # A caller that gives every generation is told of a conflict.
        if is_open(consumers, version):
            until_settled(attempt)
        else:
            attempt()


def version_for(
    consumers: Sequence[ConsumerAllocations], *, oldest: str = WITHOUT_GENERATIONS
) -> str:
    """The oldest microversion, from ``oldest`` on, that can express ``consumers``."""
    if any(consumer.consumer_type is not UNSET for consumer in consumers):
        return NEWEST
    if oldest != WITHOUT_GENERATIONS or any(
        consumer.generation is not UNSET for consumer in consumers
    ):
        return WITHOUT_TYPES
    return oldest


def is_open(consumers: Sequence[ConsumerAllocations], version: str) -> bool:
    """Whether ``version`` requires a field that is open."""
    return any(_lacks(consumer, version) for consumer in consumers)


def filled_in(
    consumers: Sequence[ConsumerAllocations], version: str, lookup: Lookup
) -> tuple[ConsumerAllocations, ...]:
    """``consumers`` with what ``version`` requires filled in from the books."""
    return tuple(
        _filled(consumer, version, lookup(consumer.consumer_uuid))
        if _lacks(consumer, version)
        else consumer
        for consumer in consumers
    )


def _lacks(consumer: ConsumerAllocations, version: str) -> bool:
    lacks_generation = version != WITHOUT_GENERATIONS and consumer.generation is UNSET
    return lacks_generation or (version == NEWEST and consumer.consumer_type is UNSET)


def _filled(
    consumer: ConsumerAllocations, version: str, known: ConsumerView | None
) -> ConsumerAllocations:
    if consumer.generation is UNSET:
        generation = None if known is None else known.generation
        consumer = replace(consumer, generation=generation)
    if version == NEWEST and consumer.consumer_type is UNSET:
        kind: str | UnsetType | None = known.consumer_type if known else None
        if not kind:
            raise errors.Invalid(
                f"No consumer_type was given for consumer {consumer.consumer_uuid}, "
                "which has none in the books, beside others that have one: over HTTP "
                "give a type for all consumers of a request or for none."
            )
        consumer = replace(consumer, consumer_type=kind)
    return consumer
