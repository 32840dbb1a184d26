"""From raw scores to an order of hosts, exactly as Nova's scheduler does it.

Separate from the weighers so that drivers can cache raw scores and combine them again:
a handful of array passes that do not depend on what was scored.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

import numpy as np

from gantt.scheduler.contract import Weigher
from gantt.scheduler.feasibility import overrides
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Floats, Int64s

_SPARE = 4


class Ends(NamedTuple):
    """The lowest and highest score, and the ends of the scale they are held against."""

    lowest: float
    highest: float
    low: float
    high: float


def ends(raw: Floats, minval: float | None, maxval: float | None = None) -> Ends:
    """The scale of ``raw`` (float64[n]). ``minval``, ``maxval``: fixed ends; scores
    beyond them count as they."""
    if not len(raw):
        return Ends(0.0, 0.0, 0.0, 0.0)
    # Quicker than min and max.
    lowest, highest = float(raw[raw.argmin()]), float(raw[raw.argmax()])
    low = lowest if minval is None else minval
    high = highest if maxval is None else maxval
    if minval is None:
        low = min(low, high)
    if maxval is None:
        high = max(low, high)
    return Ends(lowest, highest, low, high)


def normalise(raw: Floats, scale: Ends, out: Floats | None = None) -> Floats | None:
    """float64[n] between 0 and 1: where each score lies between the ends of the scale;
    None: they are equal, and all are 0. ``raw`` is unchanged; ``out`` may be used."""
    if scale.low == scale.high:
        return None
    if scale.lowest < scale.low or scale.highest > scale.high:
        raw = np.clip(raw, scale.low, scale.high, out=out)
    if scale.low != 0.0:
        raw = np.subtract(raw, scale.low, out=out)
    return np.divide(raw, scale.high - scale.low, out=out)


def add(total: Floats, scores: Floats, factor: float | Floats, out: Floats) -> None:
    """Add normalised scores times their multiplier to ``total``; ``out`` is used."""
    if isinstance(factor, float):
        # Most multipliers are 1: only add.
        if factor == 1.0:
            total += scores
            return
        if factor == -1.0:
            total -= scores
            return
    total += np.multiply(scores, factor, out=out)


def multipliers(
    hosts: Hosts, weigher: Weigher, options: SchedulerOptions
) -> float | Floats:
    """What the normalised scores are multiplied by, the sign included: one number, or
    float64[n] when an aggregate overrides it or the weigher has its own."""
    own = weigher.multiplier(hosts, options)
    if own is not None:
        return own
    if not weigher.option:
        return float(weigher.sign)
    configured = options.multiplier(weigher.option)
    found = overrides.numbers(hosts, weigher.option, configured)
    return found if weigher.sign == 1 else -found


def best(weights: Floats, k: int) -> Int64s:
    """int64[min(k, n)]: the places of the ``k`` greatest weights, best first; of equal
    ones the earlier place first."""
    n = len(weights)
    if k <= 0 or n == 0:
        return np.zeros(0, np.int64)
    if k == 1:
        # argmax gives the first of equals.
        return np.array([weights.argmax()], np.int64)
    if k >= n:
        return _in_order(weights)
    threshold = np.partition(weights, n - k)[n - k]
    above = np.flatnonzero(weights > threshold)
    level = np.flatnonzero(weights == threshold)[: k - len(above)]
    places = np.concatenate((above, level))
    chosen: Int64s = places[np.argsort(-weights[places], kind="stable")]
    return chosen


def _in_order(weights: Floats) -> Int64s:
    """Places in the order of a stable sort, in less than half its time: whatever the
    order of equals, they are one run, and sorting (run, place) puts them right."""
    order = np.argsort(-weights)
    descending = weights[order]
    starts = np.zeros(len(weights), np.int64)
    np.cumsum(descending[1:] != descending[:-1], out=starts[1:])
    starts *= len(weights)
    order += starts
    order.sort()
    order -= starts
    return order


class BestHosts:
    """The best ``count`` places of ``weights`` (float64[n]), best first; of equals the
    earlier place first. ``move`` updates weights: finding the best costs a pass over
    all hosts, and a claim moves one."""

    def __init__(self, weights: Floats, count: int) -> None:
        self._weights = weights
        self._count = min(count, len(weights))
        self._fill()

    def best(self) -> Int64s:
        """int64[count]: the places."""
        if len(self._top) < self._count:
            self._fill()
        return np.array([place for _, place in self._top[: self._count]], np.int64)

    def move(self, places: Int64s) -> None:
        """The weights at ``places`` are new."""
        for place in places.tolist():
            before = self._known.pop(place, None)
            if before is not None:
                del self._top[bisect_left(self._top, (before, place))]
            entry = (-self._weights.item(place), place)
            # A host that ranks after the last one found ranks after the others, too.
            if entry <= self._last:
                insort(self._top, entry)
                self._known[place] = entry[0]

    def _fill(self) -> None:
        """Find some more than requested, so that a few may fall behind."""
        found = best(self._weights, _SPARE * self._count).tolist()
        self._top = [(-self._weights.item(place), place) for place in found]
        self._known = {place: key for key, place in self._top}
        is_all = len(found) == len(self._weights)
        self._last = (np.inf, 0) if is_all or not found else self._top[-1]
