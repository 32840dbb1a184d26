"""The amounts of a class at which room for it changes, from the largest down.

So many instances, or groups, that ask for an amount each fit as long as it stays below
the next such value: a share of what a provider has free, or its limit for one, in its
steps. A search for the largest amount that fits need try no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import lcm

import numpy as np
from msgspec import Struct

from gantt.state.column import Int64s
from gantt.state.inventory_columns import ClassTable

_MOST_STEPS = 16
_MOST_OFFSETS = 64
_TRIED_IN_ORDER = 8


class Rooms(Struct, frozen=True, eq=False):
    """int64[n] each: what providers have ``free`` of a class, and the units in which
    they give it."""

    free: Int64s
    most: Int64s
    least: Int64s
    step: Int64s

    def __len__(self) -> int:
        return len(self.free)

    def with_those(self, other: Rooms) -> Rooms:
        """These and the others."""
        return Rooms(
            np.concatenate((self.free, other.free)),
            np.concatenate((self.most, other.most)),
            np.concatenate((self.least, other.least)),
            np.concatenate((self.step, other.step)),
        )

    def ceiling(self, count: int, top: int) -> int:
        """The largest amount up to ``top`` that can be had ``count`` times, were it not
        for units: nothing above it can. 0: none."""
        limits = np.minimum(self.free, self.most)
        low, high = 0, min(top, int(limits.max(initial=0)))
        while low < high:
            middle = (low + high + 1) // 2
            has = limits >= middle
            if int((self.free[has] // middle).sum()) >= count:
                low = middle
            else:
                high = middle - 1
        return low

    def below(
        self, top: int, start: int, times: int, offsets: Iterable[int] = (0,)
    ) -> int | None:
        """The largest amount up to ``top`` that some provider can give, and no larger
        one below ``start`` as often: up to ``times``, next to what else it gives of the
        class (``offsets``). None: there is none."""
        best = 0
        others = list(offsets)[:_MOST_OFFSETS]
        for unit in self._units(times):
            in_step = unit % self.step == 0
            free, least = self.free[in_step], self.least[in_step]
            limit = self.most[in_step] // unit * unit
            highest = top // unit * unit
            for offset in others:
                left = np.maximum(free - offset, 0)
                often = left // (highest + unit) + 1
                found = left // often // unit * unit
                found[often > times] = 0
                is_limit = limit <= np.minimum(highest, left)
                found = np.where(is_limit, limit, found)
                first = start // unit * unit
                if first <= top:
                    is_first = first <= np.minimum(limit, left)
                    found = np.where(is_first, first, found)
                found[(found < least) | (left <= 0)] = 0
                best = max(best, int(found.max(initial=0)))
        return best or None

    def _units(self, times: int) -> list[int]:
        """Steps, and where several providers may have to give the amount, the steps
        that they have in common."""
        found = {int(step) for step in np.unique(self.step)}
        if times > 1:
            for one in sorted(found):
                found |= {lcm(one, other) for other in found}
                if len(found) > _MOST_STEPS:
                    break
        return sorted(found)[:_MOST_STEPS]


def of_table(table: ClassTable, slots: Int64s) -> Rooms:
    """What the inventories at ``slots`` have left."""
    capacity, used = table.amounts(slots)
    free = np.floor(np.clip(capacity, 0, 2.0**62)).astype(np.int64)
    return Rooms(
        np.maximum(free - used, 0),
        table.max_unit[slots].astype(np.int64),
        table.min_unit[slots].astype(np.int64),
        table.step_size[slots].astype(np.int64),
    )


def sums(amounts: Iterable[int], times: int) -> list[int]:
    """What a provider may give beside: each of ``amounts`` up to ``times``, the least
    first."""
    found = {0}
    for amount in amounts:
        found |= {
            one + amount * count for one in found for count in range(1, times + 1)
        }
        found = set(sorted(found)[:_MOST_OFFSETS])
    return sorted(found)


def largest(
    below: Callable[[int], int | None],
    top: int,
    floor: int,
    helps: Callable[[int], bool],
    found: Callable[[int], None],
) -> int:
    """Tell ``found`` of amounts above ``floor`` and up to ``top`` that help, larger and
    larger, the largest last; answer that, or ``floor``. A few are tried in order; then
    halving finds some that help, in case the search ends before the rest is tried."""
    value = below(top)
    for _ in range(_TRIED_IN_ORDER):
        if value is None or value <= floor:
            return floor
        if helps(value):
            found(value)
            return value
        value = below(value - 1)
    best, high = floor, value or 0
    low = floor + 1
    while low <= high:
        middle = (low + high) // 2
        tried = below(middle)
        if tried is None or tried <= best:
            low = middle + 1
        elif helps(tried):
            best, low = tried, middle + 1
            found(best)
        else:
            high = tried - 1
    while value is not None and value > best:
        if helps(value):
            found(value)
            return value
        value = below(value - 1)
    return best
