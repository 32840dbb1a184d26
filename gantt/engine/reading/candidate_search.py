"""Searches for allocation candidates, each within the work budget of the options.

Separate from the reader because a search is measured, and counted where its budget cut
it short.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from gantt.engine.clock import Clock
from gantt.engine.observing import Observer, Silence
from gantt.engine.reading.reader import Reader
from gantt.errors import BudgetSpent
from gantt.model.answers import Candidates
from gantt.model.diagnosis import Diagnosis
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.explain import explain
from gantt.placement.candidates.search import search


class Truncatable(Protocol):
    """An answer that a work budget may have cut short."""

    @property
    def is_truncated(self) -> bool:
        """Whether it was."""

    @property
    def count(self) -> int:
        """How much was found."""


A = TypeVar("A", bound=Truncatable)


class CandidateSearch:
    """``budget``: steps of one search."""

    def __init__(
        self, reader: Reader, budget: int, clock: Clock, rng: random.Random
    ) -> None:
        self._reader = reader
        self._budget = budget
        self._clock = clock
        self._rng = rng
        self._cut = 0
        self._observer: Observer = Silence()

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        return self.search(search, request)

    def search(
        self, query: Callable[..., A], request: CandidateRequest, *args: object
    ) -> A:
        """Run ``query(state, request, *args, rng=, budget=)``, a search for candidates
        within this engine's budget. Raises UnknownName, BudgetSpent, StoreFailed."""
        rng = self._rng if request.randomize else None
        bounded = partial(query, rng=rng, budget=self._budget)
        started = self._clock.monotonic()
        try:
            found = self._reader.search(bounded, request, *args)
        except BudgetSpent:
            self._cut += 1
            raise
        self._cut += found.is_truncated
        self._observer.searched(self._clock.monotonic() - started, found.count)
        return found

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        return self._reader.search(partial(explain, budget=self._budget), request)

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of each search from now on."""
        self._observer = observer

    def counts(self) -> dict[str, float]:
        """How many searches were cut short, and the limit; for metrics."""
        return {"searches_cut": self._cut, "search_limit": self._budget}
