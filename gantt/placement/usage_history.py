"""Samples of what was used, and finer records made into coarser ones.

Apart from what keeps them, so that the arithmetic can be held against a naive one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice

from gantt.model.usage_history import UsageRecord


def sampled(
    totals: Mapping[str, tuple[float, float]], start: int, period_s: int, most: int
) -> tuple[UsageRecord, ...]:
    """One look at all resource classes (capacity, used), as the records of a period;
    the first ``most`` of the classes."""
    return tuple(
        UsageRecord(start, period_s, name, 1, capacity, used, used, used)
        for name, (capacity, used) in islice(totals.items(), most)
    )


def rolled_up(
    records: Iterable[UsageRecord], start: int, period_s: int
) -> tuple[UsageRecord, ...]:
    """The records of a period from those of the finer periods within it, by class.

    Means are weighted by samples: a day is the mean of its looks, not of its hours.
    """
    by_class: dict[str, list[UsageRecord]] = {}
    for record in records:
        by_class.setdefault(record.resource_class, []).append(record)
    return tuple(
        _together(name, parts, start, period_s)
        for name, parts in sorted(by_class.items())
    )


def _together(
    name: str, parts: list[UsageRecord], start: int, period_s: int
) -> UsageRecord:
    samples = sum(part.samples for part in parts)
    least = min(part.used_min for part in parts)
    most = max(part.used_max for part in parts)
    used = math.fsum(part.used_avg * part.samples for part in parts) / samples
    return UsageRecord(
        start,
        period_s,
        name,
        samples,
        math.fsum(part.capacity * part.samples for part in parts) / samples,
        least,
        min(max(used, least), most),  # whatever was lost in rounding
        most,
    )


def whole_periods(
    records: Iterable[UsageRecord], limit: int
) -> tuple[UsageRecord, ...]:
    """Of ``records``, the latest first, at most ``limit``, now the oldest first. A
    period that is not whole is left out, so that to go on with those before the
    first of these misses none; so nothing may be left."""
    found = list(records)
    kept = found[:limit]
    if len(found) > limit:
        cut = found[limit].start
        kept = [record for record in kept if record.start != cut]
    return tuple(sorted(kept, key=lambda record: (record.start, record.resource_class)))
