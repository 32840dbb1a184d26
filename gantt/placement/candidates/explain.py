"""Why a request has no candidates: the search once more, keeping count.

    request -> a mask per constraint                       terms
            -> which pass it, and what it removes alone    here
            -> the same of what joins groups, tree by tree joins
            -> the nearest trees and what they lack        misses
            -> the least to give up for an answer          relax

The answer of the search itself comes first, and its errors are the errors here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, structs

from gantt.errors import Invalid
from gantt.model.diagnosis import Constraint, Count, Diagnosis, GroupDiagnosis
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import terms as t
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.candidates.joins import Joins, join, links
from gantt.placement.candidates.misses import nearest
from gantt.placement.candidates.order import by_age
from gantt.placement.candidates.relaxation import smallest
from gantt.placement.candidates.search import has_candidate
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.placement.candidates.terms import GroupTerms, Served, Term
from gantt.placement.pause import Pause, never
from gantt.state.column import Bools
from gantt.state.state import State


class ExplanationBudget(Struct, frozen=True):
    """How much work an explanation may be.

    ``constraints``: a request with more is refused. ``walks``: trees to walk for what
    joins groups, times the ways to leave something out. ``misses``: near misses to
    name. ``searches``: relaxations to try.
    """

    constraints: int = 100
    walks: int = 500
    misses: int = 5
    searches: int = 64


def explain(
    state: State,
    request: CandidateRequest,
    *,
    budget: int | None = None,
    limits: ExplanationBudget = ExplanationBudget(),
    is_advising: bool = True,
    pause: Pause = never,
) -> Diagnosis:
    """How far ``request`` comes, and why no farther.

    ``budget``: steps for each of the search, the walk and the relaxations;
    ``is_advising``: whether to look for a relaxation; ``pause``: wherever others may
    write, but neither add nor move providers.
    Raises UnknownName as the search does, and Invalid for too many constraints.
    """
    request = structs.replace(
        request, limit=None, generation_limit=None, breadth_first=False
    )
    has_candidates = _has_candidates(state, request, budget)
    pause()
    sharing, groups = SharingProviders(state), list[GroupTerms]()
    for group in request.groups:
        groups.append(t.group_terms(state, group, sharing))
        pause()
    roots = t.root_terms(state, request)
    _refuse_too_many(request, groups, roots, limits)
    served = [t.served(group, range(len(group.terms))) for group in groups]
    tally = _Tally(state, [each.trees for each in served], [r.mask for r in roots])
    joins = join(
        state,
        request,
        by_age(state, tally.viable).tolist(),
        Budget(budget),
        walks=limits.walks,
        pause=pause,
    )
    if any(root not in joins.culprits for root in joins.walked):
        has_candidates = True
    found = Diagnosis(
        has_candidates,
        int(state.providers.count),
        int(tally.roots.sum()),
        int(tally.viable.sum()),
        len(joins.walked),
        tuple(
            _group(group, each, tally)
            for group, each in zip(groups, served, strict=True)
        ),
        tuple(_root(term, tally) for term in roots) + _joining(request, joins),
        is_truncated=has_candidates is None,
    )
    if has_candidates and is_advising:
        return found
    misses = nearest(state, groups, roots, joins.culprits, most=limits.misses)
    relaxation, is_cut = None, False
    if is_advising:
        relaxation, is_cut = smallest(
            state, request, Budget(budget), searches=limits.searches, pause=pause
        )
    return structs.replace(
        found,
        misses=misses,
        relaxation=relaxation,
        is_truncated=found.is_truncated or is_cut,
    )


class _Tally:
    """The trees that meet each group and root constraint, each by itself."""

    def __init__(
        self, state: State, groups: Sequence[Bools], roots: Sequence[Bools]
    ) -> None:
        self.roots = t.live_roots(state)
        self._failing = np.zeros(len(self.roots), np.int32)
        for mask in (*groups, *roots):
            self._failing += ~mask
        self.viable: Bools = self.roots & (self._failing == 0)

    def removed_alone(self, mask: Bools) -> int:
        """How many trees would be viable without the one that lets ``mask`` pass."""
        return int((self.roots & (self._failing == 1) & ~mask).sum())


def _has_candidates(
    state: State, request: CandidateRequest, budget: int | None
) -> bool | None:
    try:
        return has_candidate(state, request, Budget(budget))
    except Spent:
        return None


def _refuse_too_many(
    request: CandidateRequest,
    groups: Sequence[GroupTerms],
    roots: Sequence[Term],
    limits: ExplanationBudget,
) -> None:
    size = sum(len(group.terms) for group in groups) + len(roots) + len(links(request))
    if size > limits.constraints:
        raise Invalid(
            f"The request has {size} constraints, and at most "
            f"{limits.constraints} can be explained at once: omit groups "
            "or traits that are certainly available."
        )


def _group(group: GroupTerms, all_of_it: Served, tally: _Tally) -> GroupDiagnosis:
    numbers = range(len(group.terms))
    constraints = []
    for number, term in enumerate(group.terms):
        rest = t.served(group, [other for other in numbers if other != number])
        alone = Count(
            int((rest.providers & ~all_of_it.providers).sum()),
            int((rest.trees & ~all_of_it.trees).sum()),
        )
        constraints.append(
            Constraint(
                term.kind,
                term.names,
                _count(t.passed(group, number)),
                alone,
                term.amount,
                term.unknown,
            )
        )
    alone = Count(None, tally.removed_alone(all_of_it.trees))
    return GroupDiagnosis(
        group.group.suffix, _count(all_of_it), alone, tuple(constraints)
    )


def _joining(request: CandidateRequest, joins: Joins) -> tuple[Constraint, ...]:
    """What joins groups; a single amount has nothing to fit together with."""
    if len(request.groups) == 1 and len(request.groups[0].resources) < 2:
        return tuple(each for each in joins.constraints if each.kind != "together")
    return joins.constraints


def _root(term: Term, tally: _Tally) -> Constraint:
    return Constraint(
        term.kind,
        term.names,
        Count(None, int((tally.roots & term.mask).sum())),
        Count(None, tally.removed_alone(term.mask)),
        unknown=term.unknown,
    )


def _count(served: Served) -> Count:
    return Count(int(served.providers.sum()), int(served.trees.sum()))
