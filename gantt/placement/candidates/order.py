"""In which order candidates come, and where they end.

Stable: oldest root first, so that equal requests get equal answers. Trees of a single
provider that none shares with are decided by arrays and cost no walk.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gantt.errors import BudgetSpent
from gantt.placement.candidates.combine import Budget, Pick, Spent, combine
from gantt.placement.candidates.feasible import Question
from gantt.placement.candidates.tree import Shape, shape_of
from gantt.state.column import Bools
from gantt.state.state import State

_CHUNK = 1024


def choose(
    picks: Iterator[Pick],
    *,
    limit: int | None,
    rng: random.Random | None,
    budget: Budget,
) -> tuple[list[Pick], bool]:
    """The first ``limit`` picks, or with ``rng`` a random sample of all; and whether
    the budget has cut them. Raises BudgetSpent when it left none."""
    found: list[Pick] = []
    is_cut = False
    try:
        for pick in islice(picks, limit if rng is None else None):
            found.append(pick)
    except Spent:
        is_cut = True
    if is_cut and not found:
        raise BudgetSpent(
            "The search for allocation candidates stopped after "
            f"{budget.steps} steps without a result. Request fewer "
            "groups, or narrow them with required traits, member_of or "
            "in_tree."
        )
    if rng is not None:
        size = len(found) if limit is None else min(limit, len(found))
        found = rng.sample(found, size)
    return found, is_cut


def distinct(picks: Iterator[Pick], sharing: frozenset[int]) -> Iterator[Pick]:
    """``picks`` without repetitions. Only what consists of sharing providers alone
    can come up under more than one root."""
    if not sharing:
        yield from picks
        return
    seen: set[Pick] = set()
    for pick in picks:
        if sharing.issuperset(pick):
            if pick in seen:
                continue
            seen.add(pick)
        yield pick


def walk(
    question: Question, roots: Bools, alone: Bools, budget: Budget
) -> Iterator[Pick]:
    """The picks of all ``roots``; those ``alone`` give everything themselves."""
    rows = by_age(question.state, roots)
    size = len(question.needs)
    if not (roots & ~alone).any():
        for row in _one_by_one(rows):
            yield (row,) * size
        return
    shape = shape_of(question)
    is_alone = alone.tobytes()
    if question.request.breadth_first:
        yield from _round_robin(shape, rows, is_alone, budget)
        return
    for row in _one_by_one(rows):
        if is_alone[row]:
            yield (row,) * size
        else:
            yield from combine(shape, row, budget)


def by_age(state: State, mask: Bools) -> NDArray[np.intp]:
    """Rows of ``mask`` by ascending id."""
    rows = np.flatnonzero(mask)
    ids = state.providers.id[rows]
    if (ids[1:] < ids[:-1]).any():
        rows = rows[np.argsort(ids)]
    return rows


def _one_by_one(rows: NDArray[np.intp]) -> Iterator[int]:
    """Plain integers, not many more than are asked for."""
    for start in range(0, len(rows), _CHUNK):
        yield from rows[start : start + _CHUNK].tolist()


def _round_robin(
    shape: Shape, rows: NDArray[np.intp], is_alone: bytes, budget: Budget
) -> Iterator[Pick]:
    """One pick of each root in turn, until all are at their end."""
    size = len(shape.question.needs)
    pending: deque[Iterator[Pick]] = deque()
    for row in _one_by_one(rows):
        if is_alone[row]:
            yield (row,) * size
            continue
        picks = combine(shape, row, budget)
        pick = next(picks, None)
        if pick is not None:
            yield pick
            pending.append(picks)
    while pending:
        picks = pending.popleft()
        pick = next(picks, None)
        if pick is not None:
            yield pick
            pending.append(picks)
