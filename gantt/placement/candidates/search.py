"""The search for allocation candidates, on one page.

    request -> needs (masks over all providers)        feasible, sharing
            -> roots that can still match              roots
            -> picks, tree by tree, while asked for    combine, order
            -> uuids, names, summaries                 summarize

"No match" is an answer here, not an error.
"""

from __future__ import annotations

import random

import numpy as np

from gantt.errors import UnknownName
from gantt.model.answers import Candidates
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import feasible, summarize
from gantt.placement.candidates.feasible import Need, Question
from gantt.placement.candidates.sharing import Sharing
from gantt.state.column import Bools
from gantt.state.state import State


def search(
    state: State,
    request: CandidateRequest,
    rng: random.Random | None = None,
    *,
    budget: int | None = None,  # noqa: ARG001
) -> Candidates:
    """The candidates for ``request``. Raises UnknownName."""
    question = ask(state, request)
    if question is None:
        return Candidates((), {})
    mask = viable(question) & feasible.with_room_for_all(question)
    if request.isolate and sum(not need.is_spread for need in question.needs) > 1:
        return Candidates((), {})
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(state.providers.id[rows], kind="stable")]
    if request.generation_limit is not None:
        rows = rows[: request.generation_limit]
    if request.randomize and rng is not None:
        rows = np.array(rng.sample(rows.tolist(), len(rows)), np.intp)
    picks = [(row,) * len(question.needs) for row in rows[: request.limit].tolist()]
    return Candidates(
        summarize.candidates(state, question.needs, picks),
        summarize.summaries(state, question.needs, picks, whole_trees=request.nested),
    )


def roots(state: State, request: CandidateRequest) -> Bools:
    """bool[providers]: roots of trees that may match; the others cannot."""
    question = ask(state, request)
    if question is None:
        return np.zeros(state.providers.height, np.bool_)
    return viable(question)


def ask(state: State, request: CandidateRequest) -> Question | None:
    """The request in rows and masks; None when nobody can match some group.

    Groups are judged in order, and what comes after one that nobody can match is not
    looked at. Raises UnknownName.
    """
    allowed = feasible.allowed_roots(state, request.root_traits)
    sharing = Sharing(state)
    needs: list[Need] = []
    together: tuple[Bools, ...] = ()
    for group in request.groups:
        try:
            match = feasible.match(state, group, sharing)
        except UnknownName:
            if not viable(
                Question(state, request, sharing, allowed, tuple(needs), together)
            ).any():
                return None
            raise
        if match is None:
            return None
        needs += match.needs
        together += match.together
    return Question(state, request, sharing, allowed, tuple(needs), together)


def viable(question: Question) -> Bools:
    """bool[providers]: allowed roots around which every need can be met."""
    mask = question.allowed & feasible.bearing_together(question)
    for need in question.needs:
        mask &= feasible.covered(question.state, need, question.sharing)
    return mask
