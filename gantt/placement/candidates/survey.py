"""The search as a scheduler asks it: which trees may match, then one tree at a time.

``search`` answers the wire and picks in the order of age; a scheduler has an order of
its own. It asks for masks over all roots first, and for candidates only of the roots
that it likes best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from gantt.model.answers import Candidate
from gantt.model.names import SHARES_VIA_AGGREGATE
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import flat_search, order, search, search_answer
from gantt.placement.candidates.combination import Budget, combine
from gantt.placement.candidates.provider_masks import ResolvedRequest
from gantt.placement.candidates.search_answer import Rows
from gantt.placement.candidates.tree import SearchShape, shape_of
from gantt.state.column import Bools
from gantt.state.state import State
from gantt.state.view import View


class Survey(Struct, eq=False):
    """``viable``: bool[providers], roots that may match; ``alone``: bool[providers],
    those of them for which that is the whole truth. ``resolved`` None: none can.
    Holds as long as the State does not change."""

    state: State
    request: CandidateRequest
    viable: Bools
    alone: Bools
    resolved: ResolvedRequest | None = None
    shape: SearchShape | None = None

    def viable_at(self, roots: Rows) -> Bools:
        """bool[n]: which of these provider rows may match."""
        return self.viable[roots]

    def alone_at(self, roots: Rows) -> Bools:
        """bool[n]: which of these give everything themselves."""
        return self.alone[roots]

    def candidates(
        self, root_row: int, budget: Budget, view: View | None = None
    ) -> Iterator[Candidate]:
        """The candidates in and around the tree of ``root_row``, in the search's order,
        as ``view`` has it; of those that only exchange groups alike, one. Raises
        Spent."""
        if self.resolved is None or not self.viable[root_row]:
            return
        parts = [(need.suffix, need.amounts) for need in self.resolved.needs]
        if self.alone[root_row]:
            combinations = iter([(root_row,) * len(parts)])
        else:
            if self.shape is None:
                self.shape = shape_of(self.resolved, are_alike=True)
            combinations = order.distinct(
                combine(self.shape, root_row, budget, view),
                frozenset(self.resolved.sharing.rows),
            )
        for combination in combinations:
            yield from search_answer.candidates(self.state, parts, [combination])


class FlatSurvey:
    """A ``Survey`` where no provider has a parent and none shares: it holds whatever
    changes, as long as ``providers.structure`` does not move."""

    def __init__(
        self, state: State, request: CandidateRequest, wanted: flat_search.FlatRequest
    ) -> None:
        self._state = state
        self.request = request
        self._wanted = wanted
        total: Counter[str] = Counter()
        for group in request.groups:
            total.update(group.resources)
        self._total = dict(total)
        self._made: dict[int, Candidate] = {}
        self._suffixes = tuple(dict.fromkeys(suffix for suffix, _ in wanted.parts))

    def viable_at(self, roots: Rows) -> Bools:
        """bool[n]: which of these provider rows match."""
        return flat_search.meets(self._state, self._wanted, roots)

    def alone_at(self, roots: Rows) -> Bools:
        """bool[n]: all of them give everything themselves."""
        return np.ones(len(roots), np.bool_)

    def candidates(
        self,
        root_row: int,
        budget: Budget,
        view: View | None = None,  # noqa: ARG002
    ) -> Iterator[Candidate]:
        """The one candidate of a provider, if the State has room for it."""
        budget.spend()
        if flat_search.meets_at(self._state, self._wanted, root_row):
            yield from self.candidates_at([root_row])

    def candidates_at(self, root_rows: list[int]) -> list[Candidate]:
        """The one candidate of each provider; they are known to match."""
        found = []
        for row in root_rows:
            made = self._made.get(row)
            if made is None:
                uuid = self._state.providers.uuids[row]
                mappings: dict[str, tuple[str, ...]] = dict.fromkeys(
                    self._suffixes, (uuid,)
                )
                made = self._made[row] = Candidate({uuid: self._total}, mappings)
            found.append(made)
        return found


AnySurvey: TypeAlias = Survey | FlatSurvey


def survey(state: State, request: CandidateRequest, budget: Budget) -> AnySurvey:
    """Which may match ``request``: array passes only. Raises UnknownName."""
    shares = state.traits.index_of(SHARES_VIA_AGGREGATE)
    is_shared = shares is not None and state.provider_traits.is_used(shares)
    if state.providers.forest.is_flat and not is_shared:
        wanted = flat_search.wanted_by(state, request)
        if wanted is not None:
            return FlatSurvey(state, request, wanted)
    resolved = search.resolve(state, request, budget)
    if resolved is None:
        none = np.zeros(state.providers.height, np.bool_)
        return Survey(state, request, none, none)
    viable, alone = search.viable(resolved)
    return Survey(state, request, viable, alone, resolved)
