"""The interface to a remote Placement.

Separate from what implements it because the engine knows no wire: ``client`` has one
over HTTP, tests have others. No method is called under a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gantt.model.answers import Candidates, ConsumerView
from gantt.model.commands import ConsumerAllocations
from gantt.model.requests import CandidateRequest


class RemoteBooks(Protocol):
    """Books that others keep. Every method may raise ``errors.Unavailable``: after a
    write it is not known then whether it was carried out."""

    @property
    def url(self) -> str:
        """Their URL, for messages."""

    def candidates(
        self, question: CandidateRequest, *, request_id: str = ""
    ) -> Candidates:
        """Whatever the books answer. Raises UnknownName, Invalid, Forbidden."""

    def consumer(self, uuid: str) -> ConsumerView | None:
        """The allocations of a consumer; None: it has none."""

    def aggregates(self, provider_uuid: str) -> frozenset[str]:
        """The aggregates of a provider; empty: it has none, or is unknown."""

    def write(
        self, consumers: Sequence[ConsumerAllocations], *, request_id: str = ""
    ) -> None:
        """All of ``consumers`` as they are from now on, or none; each at its generation
        (None: it is new). Raises ConsumerMoved, ConcurrentUpdate (the same may succeed
        at once), and another GanttError when it was refused."""

    def close(self) -> None:
        """Close connections."""
