"""From raw scores to an order of hosts, exactly as Nova's scheduler does it.

Apart from the weighers so that drivers can keep raw scores and combine them anew:
all of this is a handful of array passes and knows nothing of what was scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gantt.scheduler import overrides
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.state.column import Floats, Int64s


def normalise(raw: Floats, minval: float | None, maxval: float | None = None) -> Floats:
    """float64[n] between 0 and 1: where each score lies between the lowest and the
    highest. ``minval``, ``maxval``: fixed ends; scores beyond them count as they. When
    both ends are equal, all are 0. ``raw`` (float64[n]) is left alone."""
    found = _normalised(raw, minval, maxval, np.empty(len(raw)))
    return np.zeros(len(raw)) if found is None else found


def _normalised(
    raw: Floats, minval: float | None, maxval: float | None, out: Floats
) -> Floats | None:
    """As ``normalise``, into ``out``; None: all are 0."""
    if not len(raw):
        return None
    # Quicker than min and max.
    lowest, highest = raw[raw.argmin()], raw[raw.argmax()]
    low = lowest if minval is None else minval
    high = highest if maxval is None else maxval
    if lowest < low or highest > high:
        raw = np.clip(raw, minval, maxval, out=out)
        low = raw.min() if minval is None else minval
        high = raw.max() if maxval is None else maxval
    if low == high:
        return None
    if low != 0.0:
        raw = np.subtract(raw, low, out=out)
    return np.divide(raw, high - low, out=out)


def multipliers(
    hosts: Hosts, weigher: Weigher, options: SchedulerOptions
) -> float | Floats:
    """What the normalised scores are multiplied by, the sign included: one number, or
    float64[n] when an aggregate overrides it or the weigher says so for itself."""
    own = weigher.multiplier(hosts, options)
    if own is not None:
        return own
    if not weigher.option:
        return float(weigher.sign)
    configured = options.multiplier(weigher.option)
    found = overrides.numbers(hosts, weigher.option, configured)
    return found if weigher.sign == 1 else -found


def combine(
    parts: Sequence[tuple[Floats, float | Floats]], size: int | None = None
) -> Floats:
    """float64[n]: the sum of normalised scores times their multipliers, added in the
    order given. ``size``: n, where there may be no parts."""
    if size is None:
        size = len(parts[0][0]) if parts else 0
    total, scratch = np.zeros(size), np.empty(size)
    for scores, factor in parts:
        _add(total, scores, factor, scratch)
    return total


class Part(NamedTuple):
    """What one weigher says: raw scores (float64[n], None: it cannot tell hosts apart)
    and their multiplier (a number or float64[n])."""

    weigher: Weigher
    raw: Floats | None
    factor: float | Floats


def blend(parts: Iterable[Part], size: int) -> Floats:
    """float64[size]: raw scores, each normalised, then combined; the same numbers as
    the two steps, without an array for each. A single host is not weighed: 0."""
    total = np.zeros(size)
    if size < 2:
        return total
    scratch = np.empty(size)
    for weigher, raw, factor in parts:
        if raw is None or (isinstance(factor, float) and factor == 0.0):
            continue
        scores = _normalised(raw, weigher.minval, weigher.maxval, scratch)
        if scores is not None:
            _add(total, scores, factor, scratch)
    return total


def _add(
    total: Floats, scores: Floats, factor: float | Floats, scratch: Floats
) -> None:
    if isinstance(factor, float):
        # Adding is all that most multipliers ask.
        if factor == 1.0:
            total += scores
            return
        if factor == -1.0:
            total -= scores
            return
        if factor == 0.0:
            return
    total += np.multiply(scores, factor, out=scratch)


def weights(hosts: Hosts, request: Request, weighers: Sequence[Weigher]) -> Floats:
    """float64[n]: the weight of every host. Raises errors.Invalid when a weigher cannot
    score; a single host is not scored at all."""
    if len(hosts) < 2:
        return np.zeros(len(hosts))
    return blend((part(hosts, request, one) for one in weighers), len(hosts))


def part(hosts: Hosts, request: Request, weigher: Weigher) -> Part:
    """What ``weigher`` says of every host: nothing when its multiplier is 0. Raises
    errors.Invalid."""
    if weigher.is_neutral(request):
        return Part(weigher, None, 0.0)
    factor = multipliers(hosts, weigher, request.options)
    if isinstance(factor, float) and factor == 0.0:
        return Part(weigher, None, factor)
    return Part(weigher, weigher.score(hosts, request), factor)


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
    """As a stable sort, in less than half the time: whatever the order of equals, they
    are one run, and sorting (run, place) puts them right."""
    order = np.argsort(-weights)
    descending = weights[order]
    starts = np.zeros(len(weights), np.int64)
    np.cumsum(descending[1:] != descending[:-1], out=starts[1:])
    starts *= len(weights)
    order += starts
    order.sort()
    order -= starts
    return order
