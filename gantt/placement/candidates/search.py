"""The search for allocation candidates, on one page.

    request -> needs (masks over all providers)        feasible, sharing
            -> roots that can still match              viable
            -> picks, tree by tree, while asked for    combine, order
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
from gantt.placement.candidates import feasible, flat, order, summarize
from gantt.placement.candidates.combine import Budget, Pick, Spent
from gantt.placement.candidates.feasible import Match, Question
from gantt.placement.candidates.sharing import Sharing
from gantt.placement.candidates.summarize import Part, Rows
from gantt.state.column import Bools
from gantt.state.state import State


class Found(Struct, frozen=True, eq=False):
    """``picks``: intp[candidates, parts], the provider row of each of ``parts``."""

    parts: tuple[Part, ...]
    picks: Rows
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
        summarize.candidates(state, found.parts, found.picks.tolist()),
        summarize.summaries(
            state, found.parts, found.picks, whole_trees=request.nested
        ),
        found.is_truncated,
    )


def find(
    state: State,
    request: CandidateRequest,
    rng: random.Random | None = None,
    *,
    budget: int | None = None,
) -> Found:
    """What ``search`` answers, in row numbers."""
    if not request.randomize:
        rng = None
    limits = [n for n in (request.limit, request.generation_limit) if n is not None]
    if limits and rng is None:
        oldest = flat.first(state, request, max(1, min(limits)))
        if oldest is not None:
            parts, rows = oldest
            return Found(parts, np.repeat(rows[:, None], len(parts), axis=1))
    steps = Budget(budget)
    question = ask(state, request, steps)
    if question is None:
        return Found((), np.empty((0, 0), np.intp))
    picks, is_truncated = order.choose(
        _generate(question, steps), limit=request.limit, rng=rng, budget=steps
    )
    parts = tuple((need.suffix, need.amounts) for need in question.needs)
    return Found(parts, _table(picks, len(parts)), is_truncated)


def has_candidate(state: State, request: CandidateRequest, budget: Budget) -> bool:
    """Whether ``search`` answers anything. Raises UnknownName, and Spent."""
    question = ask(state, request, budget)
    if question is None:
        return False
    return next(_generate(question, budget), None) is not None


def ask(
    state: State, request: CandidateRequest, budget: Budget | None = None
) -> Question | None:
    """The request in rows and masks; None when no provider can meet some group.

    Groups are judged in order, and what comes after one that cannot be met is not
    looked at. Raises UnknownName.
    """
    nothing = Question(
        state,
        request,
        Sharing(state),
        feasible.allowed_roots(state, request.root_traits),
    )
    if request.root_traits and not nothing.allowed.any():
        return None
    matches: list[Match] = []
    for group in request.groups:
        try:
            match = feasible.match(state, group, nothing.sharing)
        except UnknownName:
            for earlier in matches:
                if not _has_pick(_with(nothing, [earlier]), budget or Budget()):
                    return None
            raise
        if match is None:
            return None
        matches.append(match)
    return _with(nothing, matches) if matches else None


def _table(picks: list[Pick], width: int) -> Rows:
    """intp[picks, width]"""
    rows = np.fromiter(chain.from_iterable(picks), np.intp, len(picks) * width)
    return rows.reshape(len(picks), width)


def _with(question: Question, matches: list[Match]) -> Question:
    return structs.replace(
        question,
        needs=tuple(need for match in matches for need in match.needs),
        together=tuple(mask for match in matches for mask in match.together),
    )


def _has_pick(question: Question, budget: Budget) -> bool:
    """Whether a single group can be met, by itself and anywhere, as far as the budget
    tells."""
    request = structs.replace(question.request, nested=True, same_subtrees=())
    alone = structs.replace(question, request=request)
    try:
        return next(_generate(alone, budget), None) is not None
    except Spent:
        return True


def viable(question: Question) -> tuple[Bools, Bools]:
    """Two bool[providers]: roots around which each need can be met, and those of them
    that are ``alone``, for which this is the whole truth."""
    state = question.state
    mask = question.allowed & feasible.bearing_together(question)
    for need in question.needs:
        mask &= feasible.covered(state, need, question.sharing)
    alone = mask & feasible.alone(question)
    mask &= ~alone
    alone &= feasible.with_room_for_all(question)
    return mask | alone, alone


def _generate(question: Question, budget: Budget) -> Iterator[Pick]:
    """Distinct picks in their order, as many as may be generated."""
    picks = order.distinct(
        order.walk(question, *viable(question), budget),
        frozenset(question.sharing.rows),
    )
    most = question.request.generation_limit
    # As upstream: the limit is looked at after a result, so one always gets through.
    return picks if most is None else islice(picks, max(1, most))
