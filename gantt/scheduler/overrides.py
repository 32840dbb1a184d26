"""Numbers that the metadata of aggregates override, per host.

One place, because multipliers of weighers, allocation ratios and limits per host all
follow Nova's rule: the least of the values wins, and one that is no number voids the
overrides of that key on the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


def least(values: Iterable[str]) -> float | None:
    """The least of ``values``; None: there are none, or one is no finite number."""
    found: float | None = None
    for text in values:
        try:
            value = float(text)
        except ValueError:
            return None
        if not math.isfinite(value):
            return None
        found = value if found is None else min(found, value)
    return found


def numbers(hosts: Hosts, key: str, default: float | Floats) -> float | Floats:
    """What holds for each host: the least value of ``key`` over its aggregates, else
    ``default``. float64[n], or ``default`` itself while no aggregate has the key."""
    if not hosts.fleet.aggregates.having(key):
        return default
    codes, values = hosts.aggregate_values(key)
    override = np.array([_or_nan(least(texts)) for texts in values], np.float64)[codes]
    found: Floats = np.where(np.isnan(override), default, override)
    return found


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
