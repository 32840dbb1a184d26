"""The search for allocation candidates, on one page.

    request -> needs (masks over all providers)        feasible, sharing
            -> roots that can still match              viable
            -> combinations, tree by tree, while asked for    combine, order
            -> uuids, names, summaries                 summarize

"No match" is an answer here, not an error.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from msgspec import Struct, structs

from gantt.errors import UnknownName
from gantt.model.answers import Candidates
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import flat_search, order, provider_masks, search_answer
from gantt.placement.candidates.combination import Budget, Combination, Spent
from gantt.placement.candidates.provider_masks import Match, ResolvedRequest
from gantt.placement.candidates.search_answer import Part, Rows
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.state.column import Bools
from gantt.state.state import State


class FoundRows(Struct, frozen=True, eq=False):
    """``combinations``: intp[candidates, parts], the provider row of each part."""

    parts: tuple[Part, ...]
    combinations: Rows
    is_truncated: bool = False


def search(
    state: State,
    request: CandidateRequest,
    rng: random.Random | None = None,
    *,
    budget: int | None = None,
) -> Candidates:
    """The candidates for ``request``, at most ``request.limit``.

    ``rng`` takes part when the request says so; ``budget``: how many steps to walk
    within trees. Raises UnknownName, and BudgetSpent when that leaves no result.
    """
    found = find(state, request, rng, budget=budget)
    return Candidates(
        search_answer.candidates(state, found.parts, found.combinations.tolist()),
        search_answer.summaries(
            state, found.parts, found.combinations, whole_trees=request.nested
        ),
        found.is_truncated,
    )


def find(
    state: State,
    request: CandidateRequest,
    rng: random.Random | None = None,
    *,
    budget: int | None = None,
) -> FoundRows:
    """What ``search`` answers, in row numbers."""
    if not request.randomize:
        rng = None
    limits = [n for n in (request.limit, request.generation_limit) if n is not None]
    if limits and rng is None:
        oldest = flat_search.first(state, request, max(1, min(limits)))
        if oldest is not None:
            parts, rows = oldest
            return FoundRows(parts, np.repeat(rows[:, None], len(parts), axis=1))
    steps = Budget(budget)
    resolved = resolve(state, request, steps)
    if resolved is None:
        return FoundRows((), np.empty((0, 0), np.intp))
    parts = tuple((need.suffix, need.amounts) for need in resolved.needs)
    roots, alone = viable(resolved)
    if rng is None and not (roots & ~alone).any():
        # Each candidate is one provider: no walk, and nothing comes up twice.
        rows = order.by_age(state, roots)[: max(1, min(limits)) if limits else None]
        return FoundRows(parts, np.repeat(rows[:, None], len(parts), axis=1))
    combinations, is_truncated = order.choose(
        _generate(resolved, roots, alone, steps),
        limit=request.limit,
        rng=rng,
        budget=steps,
    )
    return FoundRows(parts, _table(combinations, len(parts)), is_truncated)


def has_candidate(state: State, request: CandidateRequest, budget: Budget) -> bool:
    """Whether ``search`` answers anything. Raises UnknownName, and Spent."""
    resolved = resolve(state, request, budget)
    if resolved is None:
        return False
    return next(_generate(resolved, *viable(resolved), budget), None) is not None


def resolve(
    state: State, request: CandidateRequest, budget: Budget | None = None
) -> ResolvedRequest | None:
    """The request in rows and masks; None when no provider can meet some group.

    Groups are judged in order, and what comes after one that cannot be met is not
    looked at. Raises UnknownName.
    """
    nothing = ResolvedRequest(
        state,
        request,
        SharingProviders(state),
        provider_masks.allowed_roots(state, request.root_traits),
    )
    if request.root_traits and not nothing.allowed.any():
        return None
    matches: list[Match] = []
    for group in request.groups:
        try:
            match = provider_masks.match(state, group, nothing.sharing)
        except UnknownName:
            for earlier in matches:
                if not _has_combination(_with(nothing, [earlier]), budget or Budget()):
                    return None
            raise
        if match is None:
            return None
        matches.append(match)
    return _with(nothing, matches) if matches else None


def _table(combinations: list[Combination], width: int) -> Rows:
    """intp[combinations, width]"""
    rows = np.fromiter(
        chain.from_iterable(combinations), np.intp, len(combinations) * width
    )
    return rows.reshape(len(combinations), width)


def _with(resolved: ResolvedRequest, matches: list[Match]) -> ResolvedRequest:
    return structs.replace(
        resolved,
        needs=tuple(need for match in matches for need in match.needs),
        together=tuple(mask for match in matches for mask in match.together),
    )


def _has_combination(resolved: ResolvedRequest, budget: Budget) -> bool:
    """Whether a single group can be met, by itself and anywhere, as far as the budget
    tells."""
    request = structs.replace(resolved.request, nested=True, same_subtrees=())
    alone = structs.replace(resolved, request=request)
    try:
        return next(_generate(alone, *viable(alone), budget), None) is not None
    except Spent:
        return True


def viable(resolved: ResolvedRequest) -> tuple[Bools, Bools]:
    """Two bool[providers]: roots around which each need can be met, and those of them
    that are ``alone``, for which this is the whole truth."""
    state = resolved.state
    mask = resolved.allowed & provider_masks.bearing_together(resolved)
    for need in resolved.needs:
        mask &= provider_masks.covered(state, need, resolved.sharing)
    alone = provider_masks.alone(resolved, mask)
    mask &= ~alone
    alone &= provider_masks.with_room_for_all(resolved)
    return mask | alone, alone


def _generate(
    resolved: ResolvedRequest, roots: Bools, alone: Bools, budget: Budget
) -> Iterator[Combination]:
    """Distinct combinations in their order, as many as may be generated."""
    combinations = order.distinct(
        order.walk(resolved, roots, alone, budget),
        frozenset(resolved.sharing.rows),
    )
    most = resolved.request.generation_limit
    # As upstream: the limit is looked at after a result, so one always gets through.
    return combinations if most is None else islice(combinations, max(1, most))
