"""One weigher's part of the weights: raw scores, their ends, and what they count.

Kept apart from the scores themselves because a driver that keeps them changes a few at
a time: as long as no end of the scale moves, only those hosts' weights move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gantt.scheduler import weigh
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats, Int64s


class Scale:
    """``raw``: float64[n]; ``factor``: the multiplier, one number or float64[n]."""

    __slots__ = ("_ends", "factor", "raw", "weigher")

    def __init__(self, weigher: Weigher, raw: Floats, factor: float | Floats) -> None:
        self.weigher = weigher
        self.raw = raw
        self.factor = factor
        self._ends = self._measure()

    def at(self, mask: Bools) -> Scale:
        """A scale of those hosts that ``mask`` (bool[n]) names, with its own ends."""
        is_one = isinstance(self.factor, float)
        factor = self.factor if is_one else self.factor[mask]  # type: ignore[index]
        return Scale(self.weigher, self.raw[mask], factor)

    def change(self, places: Int64s, values: Floats) -> bool:
        """New raw scores at ``places``; whether the weights of others change too."""
        old = self.raw[places]
        if (old == values).all():
            return False
        self.raw[places] = values
        lowest, highest, *_ = self._ends
        was_inside = old.min() > lowest and old.max() < highest
        if was_inside and values.min() >= lowest and values.max() <= highest:
            return False
        before, self._ends = self._ends, self._measure()
        return before[2:] != self._ends[2:]

    def scaled(self, places: Int64s) -> Floats:
        """float64[k]: normalised and multiplied, at ``places``."""
        lowest, highest, low, high = self._ends
        if low == high:
            return np.zeros(len(places))
        raw = self.raw[places]
        if lowest < low or highest > high:
            raw = np.clip(raw, low, high)
        factor = self.factor
        if not isinstance(factor, float):
            factor = factor[places]
        found: Floats = (raw - low) / (high - low) * factor
        return found

    def add_to(self, total: Floats, scratch: Floats) -> None:
        """Add this part to the weights of all hosts (float64[n])."""
        lowest, highest, low, high = self._ends
        if low == high:
            return
        raw = self.raw
        if lowest < low or highest > high:
            raw = np.clip(raw, low, high, out=scratch)
        if low != 0.0:
            raw = np.subtract(raw, low, out=scratch)
        raw = np.divide(raw, high - low, out=scratch)
        if isinstance(self.factor, float):
            if self.factor == 1.0:
                total += raw
                return
            if self.factor == -1.0:
                total -= raw
                return
        total += np.multiply(raw, self.factor, out=scratch)

    def _measure(self) -> tuple[float, float, float, float]:
        """The lowest and the highest score, and the ends that they are held against:
        as ``weigh.normalise``."""
        raw = self.raw
        if not len(raw):
            return (0.0, 0.0, 0.0, 0.0)
        # Quicker than min and max.
        lowest, highest = float(raw[raw.argmin()]), float(raw[raw.argmax()])
        minval, maxval = self.weigher.minval, self.weigher.maxval
        low = lowest if minval is None else minval
        high = highest if maxval is None else maxval
        if lowest < low or highest > high:
            low = max(low, lowest) if minval is None else low
            high = max(low, highest) if maxval is None else high
            low = min(low, high) if minval is None else low
        return (lowest, highest, low, high)


def scale_of(weigher: Weigher, hosts: Hosts, request: Request) -> Scale | None:
    """The part of ``weigher``; None where it cannot tell hosts apart. Raises
    errors.Invalid."""
    part = weigh.part(hosts, request, weigher)
    return None if part.raw is None else Scale(weigher, part.raw, part.factor)


def scales_of(
    hosts: Hosts, request: Request, weighers: Sequence[Weigher]
) -> tuple[Scale, ...]:
    """The parts of the weights; none for a host alone, which is not weighed."""
    if len(hosts) < 2:
        return ()
    found = (scale_of(one, hosts, request) for one in weighers)
    return tuple(scale for scale in found if scale is not None)


def total(scales: Sequence[Scale], size: int) -> Floats:
    """float64[size]: the weights, added in the order of the weighers."""
    weights, scratch = np.zeros(size), np.empty(size)
    if size > 1:
        for one in scales:
            one.add_to(weights, scratch)
    return weights


def total_at(scales: Sequence[Scale], places: Int64s) -> Floats:
    """float64[k]: the weights at ``places``, to the last bit as ``total`` has them."""
    weights = np.zeros(len(places))
    for one in scales:
        weights += one.scaled(places)
    return weights
