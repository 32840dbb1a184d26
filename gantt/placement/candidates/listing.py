"""Candidates that were found elsewhere: what a remote Placement answered.

Beside ``survey``, which looks for candidates in the columns: here they are a value that
was fetched before anything was decided, and hosts are found in it by uuid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gantt.model.answers import Candidate, Candidates, ProviderSummary
from gantt.model.names import SHARES_VIA_AGGREGATE


class CandidateListing:
    """The candidates of one or more answers, in their order; not to be changed.

    ``trouble``: why there are none, in the words of the service that was asked.
    """

    def __init__(
        self,
        answers: Iterable[Candidates],
        *,
        without: frozenset[str] = frozenset(),
        trouble: str = "",
    ) -> None:
        """``without``: providers that nothing is to be taken of."""
        self._answers = tuple(answers)
        self.trouble = trouble
        self._summaries: dict[str, ProviderSummary] = {}
        self._of: dict[str, list[Candidate]] = {}
        for answer in self._answers:
            self._summaries.update(answer.summaries)
        for answer in self._answers:
            for candidate in answer.candidates:
                if without.isdisjoint(candidate.allocations):
                    for uuid in self._places(candidate):
                        self._of.setdefault(uuid, []).append(candidate)

    def without(self, providers: frozenset[str]) -> CandidateListing:
        """The listing without the candidates that take anything of ``providers``."""
        return CandidateListing(self._answers, without=providers, trouble=self.trouble)

    def has(self, uuid: str | None) -> bool:
        """Whether the host with this provider has any candidate."""
        return uuid in self._of

    def of(self, uuid: str | None) -> Sequence[Candidate]:
        """The candidates of the host with this provider."""
        return () if uuid is None else self._of.get(uuid, ())

    def has_room(self, uuid: str, resource_class: str, amount: int) -> bool:
        """Whether a provider had so much left when it was asked. One that the answer
        says nothing of is not judged here."""
        summary = self._summaries.get(uuid)
        found = None if summary is None else summary.resources.get(resource_class)
        return found is None or found.used + amount <= found.capacity

    def _places(self, candidate: Candidate) -> dict[str, None]:
        """The providers, and roots of providers, on whose host an instance would be.
        One that only shares what it has is a place only if no other gives anything."""
        own = [uuid for uuid in candidate.allocations if not self._shares(uuid)]
        found = dict.fromkeys(own or candidate.allocations)
        for uuid in tuple(found):
            summary = self._summaries.get(uuid)
            if summary is not None:
                found[summary.root_uuid] = None
        return found

    def _shares(self, uuid: str) -> bool:
        summary = self._summaries.get(uuid)
        return summary is not None and SHARES_VIA_AGGREGATE in summary.traits
