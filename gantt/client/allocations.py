"""Consumers over HTTP: candidates, claims, usages of projects, reshaping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gantt import errors
from gantt.client import claims, decode, encode
from gantt.client.exchange import Exchange, until_settled
from gantt.client.providers import PROVIDERS
from gantt.model.answers import (
    Candidates,
    ConsumerView,
    ProviderAllocations,
    Report,
    TypeUsages,
)
from gantt.model.commands import ConsumerAllocations, ReshapedProvider
from gantt.model.diagnosis import Diagnosis
from gantt.model.requests import CandidateRequest, UsageQuery

RESHAPE_SINCE = "1.30"


class RemoteAllocations:
    """The part of GanttProtocol that is about consumers and what they use."""

    _wire: Exchange

    def get_allocations(self, consumer_uuid: str) -> ConsumerView | None:
        """See GanttProtocol."""
        route = encode.path("allocations", consumer_uuid)
        return decode.consumer(self._wire.ask("GET", route))

    def set_allocations(self, consumers: Iterable[ConsumerAllocations]) -> None:
        """See GanttProtocol."""
        wanted = tuple(consumers)
        if wanted:
            version = claims.version_for(wanted)
            self._claim("/allocations", wanted, version, lambda body: body)

    def delete_allocations(self, consumer_uuid: str) -> None:
        """See GanttProtocol."""
        self._wire.ask("DELETE", encode.path("allocations", consumer_uuid))

    def get_provider_allocations(self, provider_uuid: str) -> ProviderAllocations:
        """See GanttProtocol."""
        route = encode.path(PROVIDERS, provider_uuid, "allocations")
        return decode.provider_allocations(self._wire.ask("GET", route))

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """See GanttProtocol. Raises Invalid also for what the wire cannot say."""
        route = encode.query("/allocation_candidates", encode.candidate_pairs(request))
        return decode.candidates(self._wire.ask("GET", route))

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        """See GanttProtocol. Raises Invalid also where the service is no Gantt."""
        pairs = encode.candidate_pairs(request)
        route = encode.query("/gantt/candidates/explain", pairs)
        try:
            return decode.diagnosis(self._wire.ask("GET", route))
        except errors.NotFound:
            raise errors.Invalid(
                "This service does not explain candidates, which is Gantt's own "
                "addition to Placement: ask a Gantt, or the database in process."
            ) from None

    def verify(self) -> Report:
        """See GanttProtocol. Raises Invalid also where the service is no Gantt."""
        try:
            return decode.report(self._wire.ask("GET", "/gantt/verify"))
        except errors.NotFound:
            raise errors.Invalid(
                "This service cannot verify itself, which is Gantt's own addition to "
                "Placement."
            ) from None

    def reshape(
        self,
        providers: Iterable[ReshapedProvider],
        consumers: Iterable[ConsumerAllocations],
    ) -> None:
        """See GanttProtocol."""
        inventories = {
            each.provider_uuid: {
                decode.GENERATION: each.generation,
                "inventories": encode.inventories_body(each.inventories),
            }
            for each in providers
        }
        wanted = tuple(consumers)
        version = claims.version_for(wanted, oldest=RESHAPE_SINCE)
        self._claim(
            "/reshaper",
            wanted,
            version,
            lambda body: {"inventories": inventories, "allocations": body},
        )

    def total_usages(self, query: UsageQuery) -> dict[str, TypeUsages]:
        """See GanttProtocol."""
        route = encode.query("/usages", encode.usage_pairs(query))
        found = decode.usages(self._wire.ask("GET", route))
        if query.by_type:
            return found
        # The wire names the one type that was asked for; here it is a sum like any.
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
            filled = claims.filled_in(consumers, version, self.get_allocations)
            body = wrap(encode.consumers_body(filled))
            self._wire.ask("POST", route, body, version=version)

        # Who gave every generation wants to hear of a conflict; the others do not care.
        if claims.is_open(consumers, version):
            until_settled(attempt)
        else:
            attempt()
