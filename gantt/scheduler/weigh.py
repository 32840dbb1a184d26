"""From raw scores to an order of hosts, exactly as Nova's scheduler does it.

Apart from the weighers so that drivers can keep raw scores and combine them anew:
all of this is a handful of array passes and knows nothing of what was scored.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    if not len(raw):
        return raw
    low = raw.min() if minval is None else np.float64(minval)
    high = raw.max() if maxval is None else np.float64(maxval)
    if minval is not None and raw.min() < low:
        raw = np.maximum(raw, low)
        high = max(high, low) if maxval is None else high
    if maxval is not None and raw.max() > high:
        raw = np.minimum(raw, high)
        low = min(low, high) if minval is None else low
    if low == high:
        return np.zeros(len(raw))
    scaled: Floats = raw - low if low else raw
    span = high - low
    if scaled is raw:
        return scaled / span
    scaled /= span
    return scaled


def multipliers(
    hosts: Hosts, weigher: Weigher, options: SchedulerOptions
) -> float | Floats:
    """What the normalised scores are multiplied by, the sign included: one number, or
    float64[n] when an aggregate overrides it or the weigher says so for itself."""
    own = weigher.multiplier(hosts)
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
    total: Floats = np.zeros(size)
    scratch: Floats | None = None
    for scores, factor in parts:
        if isinstance(factor, float):
            if factor == 1.0:
                total += scores
                continue
            if factor == -1.0:
                total -= scores
                continue
            if factor == 0.0:
                continue
        if scratch is None:
            scratch = np.empty(size)
        total += np.multiply(scores, factor, out=scratch)
    return total


def weights(hosts: Hosts, request: Request, weighers: Sequence[Weigher]) -> Floats:
    """float64[n]: the weight of every host. A single host is not weighed: 0. Raises
    errors.Invalid when a weigher cannot score."""
    if len(hosts) < 2:
        return np.zeros(len(hosts))
    parts: list[tuple[Floats, float | Floats]] = []
    for weigher in weighers:
        if weigher.is_neutral(request):
            continue
        factor = multipliers(hosts, weigher, request.options)
        if isinstance(factor, float) and factor == 0.0:
            continue
        raw = weigher.score(hosts, request)
        parts.append((normalise(raw, weigher.minval, weigher.maxval), factor))
    return combine(parts, len(hosts))


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
        order: Int64s = np.argsort(-weights, kind="stable")
        return order
    threshold = np.partition(weights, n - k)[n - k]
    above = np.flatnonzero(weights > threshold)
    level = np.flatnonzero(weights == threshold)[: k - len(above)]
    places = np.concatenate((above, level))
    chosen: Int64s = places[np.argsort(-weights[places], kind="stable")]
    return chosen
