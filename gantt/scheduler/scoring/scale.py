"""One weigher's part of the weights: raw scores, their bounds, and the multiplier.

Separate from the scores because a driver that caches them changes a few at a time: as
long as no bound of the scale changes, only those hosts' weights change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from gantt.errors import GanttError
from gantt.model.selection import Column
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.stages import SCORE, Mark
from gantt.state.column import Bools, Floats, Int64s

Sample: TypeAlias = tuple[Weigher, Floats, host_weights.Ends, float | Floats]
"""A weigher, its raw scores of some hosts, the ends of all, and the multiplier."""


class Scale:
    """``raw``: float64[n]; ``ends``: of the scale; ``factor``: the multiplier, one
    number or float64[n]."""

    __slots__ = ("_at_ends", "ends", "factor", "raw", "weigher")

    def __init__(
        self,
        weigher: Weigher,
        raw: Floats,
        factor: float | Floats,
        ends: host_weights.Ends | None = None,
    ) -> None:
        self.weigher = weigher
        self.raw = raw
        self.factor = factor
        self.ends = ends or host_weights.ends(raw, weigher.minval, weigher.maxval)
        # The lowest and the highest score: how many have it, once that mattered.
        self._at_ends: dict[float, int] = {}

    def at(self, which: Bools | Int64s, ends: host_weights.Ends | None = None) -> Scale:
        """A scale of those hosts that ``which`` (a mask, or places) names, with its own
        ends where none are given."""
        is_one = isinstance(self.factor, float)
        factor = self.factor if is_one else self.factor[which]  # type: ignore[index]
        return Scale(self.weigher, self.raw[which], factor, ends)

    def copy(self) -> Scale:
        """One whose scores may be changed."""
        return Scale(self.weigher, self.raw.copy(), self.factor, self.ends)

    def change(self, places: Int64s, values: Floats) -> bool:
        """New raw scores at ``places``; whether the weights of others change too."""
        before = self.ends
        lowest, highest, *_ = before
        is_inside = True
        # A few at a time: array passes would cost more.
        for place, new in zip(places.tolist(), values.tolist(), strict=True):
            old = self.raw.item(place)
            if old != new:
                if not (lowest < old < highest and lowest < new < highest):
                    is_inside &= self._leaves_ends(old, new)
                self.raw[place] = new
        if is_inside:
            return False
        self.ends = host_weights.ends(
            self.raw, self.weigher.minval, self.weigher.maxval
        )
        self._at_ends = {}
        return before[2:] != self.ends[2:]

    def _leaves_ends(self, old: float, new: float) -> bool:
        """Whether the lowest and the highest score stay when ``old`` becomes ``new``;
        ask before it does."""
        lowest, highest, *_ = self.ends
        counts = self._at_ends
        for score in (old, new):
            if score in (lowest, highest) and score not in counts:
                counts[score] = int(np.count_nonzero(self.raw == score))
        if old in counts:
            counts[old] -= 1
        if new in counts:
            counts[new] += 1
        return lowest <= new <= highest and counts.get(old, 1) > 0

    def add_to(self, total: Floats, scratch: Floats) -> None:
        """Add this part to the weights of all hosts (float64[n])."""
        found = host_weights.normalise(self.raw, self.ends, scratch)
        if found is not None:
            host_weights.add(total, found, self.factor, scratch)


def scale_of(
    weigher: Weigher, hosts: Hosts, request: Request, mark: Mark | None = None
) -> Scale | None:
    """The part of ``weigher``; None where all scores are equal. Raises
    errors.Invalid."""
    if weigher.is_neutral(request):
        return None
    factor = host_weights.multipliers(hosts, weigher, request.options)
    if isinstance(factor, float) and factor == 0.0:
        return None
    if mark is not None:
        mark(SCORE)
    return Scale(weigher, weigher.score(hosts, request), factor)


def scales_of(
    hosts: Hosts,
    request: Request,
    weighers: Sequence[Weigher],
    mark: Mark | None = None,
) -> tuple[Scale, ...]:
    """The parts of the weights; none for a single host, which is not weighed."""
    if len(hosts) < 2:
        return ()
    found = (scale_of(one, hosts, request, mark) for one in weighers)
    return tuple(scale for scale in found if scale is not None)


def all_scales(
    scales: Sequence[Scale],
    hosts: Hosts,
    request: Request,
    weighers: Sequence[Weigher],
) -> Iterator[Scale]:
    """``scales`` with those of the ``weighers`` without effect, in order: for display,
    not for decisions. One that fails is left out."""
    counting = {one.weigher: one for one in scales}
    flat = host_weights.Ends(0.0, 0.0, 0.0, 0.0)
    for weigher in weighers:
        if weigher in counting:
            yield counting[weigher]
            continue
        with suppress(GanttError):
            yield Scale(weigher, weigher.score(hosts, request), 0.0, flat)


def total(scales: Sequence[Scale], size: int) -> Floats:
    """float64[size]: the weights, added in the order of the weighers."""
    weights, scratch = np.zeros(size), np.empty(size)
    if size > 1:
        for one in scales:
            one.add_to(weights, scratch)
    return weights


def total_at(scales: Sequence[Scale], places: Int64s) -> Floats:
    """float64[k]: the weights at ``places``, to the last bit as ``total`` has them."""
    weights = [0.0] * len(places)
    at = places.tolist()
    for one in scales:
        raw, factor, (_, _, low, high) = one.raw.item, one.factor, one.ends
        if low == high:
            continue
        span, times = high - low, factor if isinstance(factor, float) else 0.0
        for number, place in enumerate(at):
            if not isinstance(factor, float):
                times = factor.item(place)
            score = min(max(raw(place), low), high)
            weights[number] += (score - low) / span * times
    return np.array(weights)


def samples(scales: Sequence[Scale], places: Int64s) -> list[Sample]:
    """The scores at ``places`` as they are now, with the bounds of all."""
    found = []
    for one in scales:
        factor = one.factor if isinstance(one.factor, float) else one.factor[places]
        found.append((one.weigher, one.raw[places], one.ends, factor))
    return found


def part(
    weigher: Weigher, raw: Floats, ends: host_weights.Ends, factor: float | Floats
) -> tuple[str, Column, float, float, Column]:
    """A sample by columns, in the form of ``Scoring.parts``."""
    raws: list[float] = raw.tolist()
    is_one = bool(raws) and raws.count(raws[0]) == len(raws)
    return (
        weigher.name,
        raws[0] if is_one else raws,
        *ends[2:],
        factor if isinstance(factor, float) else factor.tolist(),
    )
