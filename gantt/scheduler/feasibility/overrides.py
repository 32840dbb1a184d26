"""Numbers that the metadata of aggregates override, per host.

One place, because multipliers of weighers, allocation ratios and limits per host all
follow Nova's rule: the least of the values wins, and an invalid number voids the
overrides of that key on the host.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import DEFAULT_MULTIPLIERS
from gantt.scheduler.request.limits import is_factor
from gantt.state.column import Floats

_KEYS: Final = (
    *DEFAULT_MULTIPLIERS,
    "cpu_allocation_ratio",
    "ram_allocation_ratio",
    "disk_allocation_ratio",
    "max_io_ops_per_host",
    "max_instances_per_host",
)


def least(values: Iterable[str]) -> float | None:
    """The least of ``values``; None: there are none, or one is not a usable number."""
    found: float | None = None
    for text in values:
        try:
            value = float(text)
        except ValueError:
            return None
        if not is_factor(value):
            return None
        found = value if found is None else min(found, value)
    return found


def unread(metadata: Mapping[str, str]) -> list[str]:
    """Keys of an aggregate's metadata that override a number and hold none."""
    return [key for key in _KEYS if key in metadata and least((metadata[key],)) is None]


def numbers(hosts: Hosts, key: str, default: float | Floats) -> float | Floats:
    """The value for each host: the least of ``key`` over its aggregates, else
    ``default``. float64[n], or ``default`` itself while no aggregate has the key."""
    if not hosts.fleet.aggregates.having(key):
        return default
    codes, values = hosts.aggregate_values(key)
    override = np.array([_or_nan(least(texts)) for texts in values], np.float64)[codes]
    found: Floats = np.where(np.isnan(override), default, override)
    return found


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
