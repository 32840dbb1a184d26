"""Amounts decided in this process: by inventories, or by the reports of hosts."""

from __future__ import annotations

import logging

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Consistency, Reader
from gantt.model.answers import Claimed
from gantt.model.commands import Claim, ReleaseClaim, TurnToBooks
from gantt.placement import amount_source
from gantt.scheduler.feasibility.candidate_sources import (
    BOOK_SOURCE,
    REPORT_SOURCE,
    CandidateSource,
)
from gantt.state.state import State

LOG = logging.getLogger(__name__)


class LocalBooks:
    """Selects the source, and claims on it. ``use_placement``: always, never, or auto:
    reports decide until every enabled host has inventory, the books from then on."""

    def __init__(
        self, reader: Reader, committer: Committer, use_placement: str
    ) -> None:
        self._reader = reader
        self._committer = committer
        self._is_open = use_placement == "auto"
        self._by_books = use_placement == "always"

    def ask(self, again: bool) -> CandidateSource:  # noqa: ARG002
        """The current source: it is never out of date."""
        if self._is_open:
            self._look()
        return BOOK_SOURCE if self._by_books else REPORT_SOURCE

    def source(self, state: State) -> CandidateSource:
        """The source as this process knows it, which neither waits nor writes."""
        is_by_books = self._by_books
        if self._is_open:
            is_by_books = amount_source.stage(state) != "reports"
        return BOOK_SOURCE if is_by_books else REPORT_SOURCE

    def _look(self) -> None:
        """Switch to inventories as soon as possible, permanently."""
        stage = self._reader.read(amount_source.stage, consistency=Consistency.ASSUMED)
        if stage == "books" or (
            stage == "ready" and self._committer.submit(TurnToBooks())
        ):
            # Never back: another thread may have switched since this one looked.
            self._by_books, self._is_open = True, False
            LOG.info("every enabled host has inventory: amounts come from the books")

    def look_again(self) -> None:
        """Nothing to do: the committer judges by what is held here."""

    def bind(self, claim: Claim, reserved: Claimed) -> None:
        """Nothing to do: the committer wrote everything."""

    def unreserve(self, claim: Claim, reserved: Claimed) -> None:
        """End a claim that is not returned, even if its hosts are gone; what of it was
        returned before stays."""
        names = [one.instance_uuid for one in claim.instances]
        repeats = reserved.repeats or (None,) * len(names)
        placed = tuple(
            (uuid, generation)
            for uuid, generation, before in zip(
                names, reserved.generations, repeats, strict=True
            )
            if before is None
        )
        if placed:
            only = frozenset(uuid for uuid, _ in placed)
            self._committer.submit(ReleaseClaim(reserved.claim, placed, only))
