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
from gantt.placement.candidates.combination import Budget, Combination, Spent, combine
from gantt.placement.candidates.provider_masks import ResolvedRequest
from gantt.placement.candidates.tree import SearchShape, shape_of
from gantt.state.column import Bools
from gantt.state.state import State

_CHUNK = 1024


def choose(
    combinations: Iterator[Combination],
    *,
    limit: int | None,
    rng: random.Random | None,
    budget: Budget,
) -> tuple[list[Combination], bool]:
    """The first ``limit`` combinations, or with ``rng`` a random sample of all; and
    whether the budget has cut them. Raises BudgetSpent when it left none."""
    found: list[Combination] = []
    is_cut = False
    try:
        for combination in islice(combinations, limit if rng is None else None):
            found.append(combination)
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


def distinct(
    combinations: Iterator[Combination], sharing: frozenset[int]
) -> Iterator[Combination]:
    """``combinations`` without repetitions. Only what consists of sharing providers
    alone can come up under more than one root."""
    if not sharing:
        yield from combinations
        return
    seen: set[Combination] = set()
    for combination in combinations:
        if sharing.issuperset(combination):
            if combination in seen:
                continue
            seen.add(combination)
        yield combination


def walk(
    resolved: ResolvedRequest, roots: Bools, alone: Bools, budget: Budget
) -> Iterator[Combination]:
    """The combinations of all ``roots``; those ``alone`` give everything themselves."""
    rows = by_age(resolved.state, roots)
    size = len(resolved.needs)
    if not (roots & ~alone).any():
        for row in _one_by_one(rows):
            yield (row,) * size
        return
    shape = shape_of(resolved)
    is_alone = alone.tobytes()
    if resolved.request.breadth_first:
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
    shape: SearchShape, rows: NDArray[np.intp], is_alone: bytes, budget: Budget
) -> Iterator[Combination]:
    """One combination of each root in turn, until all are at their end."""
    size = len(shape.resolved.needs)
    pending: deque[Iterator[Combination]] = deque()
    for row in _one_by_one(rows):
        if is_alone[row]:
            yield (row,) * size
            continue
        combinations = combine(shape, row, budget)
        combination = next(combinations, None)
        if combination is not None:
            yield combination
            pending.append(combinations)
    while pending:
        combinations = pending.popleft()
        combination = next(combinations, None)
        if combination is not None:
            yield combination
            pending.append(combinations)
