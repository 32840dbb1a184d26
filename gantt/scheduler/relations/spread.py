"""How many instances domains may take, and where they go: pure arithmetic.

For one key instances are put one after the other into any domain that is open
(``domain_rules``): that never ends before as many are placed as there can be, which
``ceiling`` tells, because the least only rises. For several keys it may, so that all
are planned at once by a search in cells, which are domains of all keys together,
within a number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from gantt.model.relations import Relation
from gantt.placement.candidates.combination import Budget
from gantt.placement.domain_rules import least, still_open
from gantt.state.column import Bools, Floats, Int64s

_CELLS_PER_STEP: Final = 256


class Key(Struct, frozen=True, eq=False):
    """One relation: by domain, ``counts`` (int64), what is there, and ``eligible``
    (bool), what counts for the least; ``of_cell``: int64, the domain of each cell."""

    relation: Relation
    counts: Int64s
    eligible: Bools
    of_cell: Int64s


def ceiling(
    relation: Relation, counts: Int64s, room: Int64s, eligible: Bools
) -> Int64s:
    """int64[domains]: how many each could take at most, were as many asked for as can
    be placed: the domain with the least cannot rise above what it has room for."""
    top = relation.most + least(relation, counts + room, eligible)
    if relation.is_fixed:
        return np.where(still_open(relation, counts, eligible), room, 0)
    return np.minimum(room, np.maximum(top - counts, 0))


def soft_scores(relation: Relation, counts: Int64s, domains: int) -> Floats:
    """float64[domains]: Kubernetes' score of a soft spread, the less the better: a key
    of many domains weighs more, and a large skew flattens it. Of a soft ``near``: 0
    where the others are."""
    if relation.kind == "near":
        return np.where(counts > 0, 0.0, 1.0)
    return counts.astype(np.float64) * math.log(domains + 2) + (relation.most - 1)


def search(
    keys: Sequence[Key], room: Int64s, count: int, budget: Budget
) -> Int64s | None:
    """int64[cells]: how many of ``count`` go into each cell, so that every key's
    relation holds of all together; None: there is no way. ``room``: int64[cells].
    Raises Spent."""
    return _Search(keys, room, budget).place(count)


class _Search:
    """The best first, one instance after the other; what was tried before in another
    order is not tried again."""

    def __init__(self, keys: Sequence[Key], room: Int64s, budget: Budget) -> None:
        self._keys, self._budget = keys, budget
        self._cost = 1 + len(room) // _CELLS_PER_STEP
        self._left = room.copy()
        self._added = np.zeros(len(room), np.int64)
        self._counts = [key.counts.copy() for key in keys]
        self._touched = [np.zeros(len(key.counts), np.int64) for key in keys]
        self._rooms = [
            np.bincount(key.of_cell, room, len(key.counts)).astype(np.int64)
            for key in keys
        ]
        self._tops = [
            key.relation.most + least(key.relation, key.counts + rooms, key.eligible)
            for key, rooms in zip(keys, self._rooms, strict=True)
        ]
        self._tried: set[bytes] = set()

    def place(self, count: int) -> Int64s | None:
        """Depth first; without recursion, for ``count`` may be large."""
        path: list[int] = []
        stack = [self._next(count)]
        while stack:
            if len(path) == count and self._holds():
                return self._added
            cell = stack[-1].pop() if stack[-1] else None
            if cell is None:
                stack.pop()
                if path:
                    self._move(path.pop(), -1)
                continue
            self._budget.spend(self._cost)
            self._move(cell, 1)
            path.append(cell)
            left = count - len(path)
            key = self._added.tobytes()
            is_new = key not in self._tried
            self._tried.add(key)
            may_hold = is_new and self._may_hold(left)
            stack.append(self._next(left) if may_hold else [])
        return None

    def _next(self, left: int) -> list[int]:
        """The cells that may take one more, the best last."""
        if not left:
            return []
        is_open = self._left > 0
        above = np.zeros(len(self._left), np.int64)
        for key, counts, top in zip(self._keys, self._counts, self._tops, strict=True):
            if key.relation.is_fixed:
                allowed = still_open(key.relation, key.counts, key.eligible)
                is_open &= allowed[key.of_cell]
                continue
            is_open &= counts[key.of_cell] < top
            if key.relation.kind == "spread":
                above += counts[key.of_cell] - counts.min(initial=0)
        cells = np.flatnonzero(is_open)
        order = np.lexsort((self._left[cells], -above[cells]))
        found: list[int] = cells[order].tolist()
        return found

    def _move(self, cell: int, times: int) -> None:
        self._added[cell] += times
        self._left[cell] -= times
        for number, key in enumerate(self._keys):
            domain = key.of_cell[cell]
            self._counts[number][domain] += times
            self._touched[number][domain] += times
            self._rooms[number][domain] -= times

    def _holds(self) -> bool:
        return all(self._lacks(number) == 0 for number in range(len(self._keys)))

    def _lacks(self, number: int) -> int:
        """How many more the domains with the least must get."""
        key, counts = self._keys[number], self._counts[number]
        touched = self._touched[number] > 0
        if key.relation.is_fixed or not touched.any():
            return 0
        highest = int(counts[touched].max())
        if key.relation.kind == "distinct" or not _compares(key):
            return 0 if highest <= key.relation.most else 2**31
        low = highest - key.relation.most - counts[key.eligible]
        return int(low[low > 0].sum())

    def _may_hold(self, left: int) -> bool:
        for number, key in enumerate(self._keys):
            lacks = self._lacks(number)
            if lacks > left:
                return False
            if lacks:
                counts = self._counts[number]
                highest = int(counts[self._touched[number] > 0].max())
                wanted = highest - key.relation.most - counts
                short = key.eligible & (wanted > self._rooms[number])
                if short.any():
                    return False
        return True


def _compares(key: Key) -> bool:
    """Whether there are enough domains for the least of them to count."""
    return int(np.count_nonzero(key.eligible)) >= max(key.relation.min_domains, 1)
