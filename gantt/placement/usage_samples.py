"""Samples of what was used, and finer records made into coarser ones.

Apart from what keeps them, so that the arithmetic can be held against a naive one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np

from gantt.model.usage_history import UsageRecord, is_zone_name
from gantt.placement.map_columns import zones_of
from gantt.placement.usages import totals
from gantt.state.column import NO_ROW
from gantt.state.state import State


def totals_by_zone(
    state: State, default_zone: str
) -> dict[str, dict[str, tuple[float, float]]]:
    """Zone -> resource class -> (capacity, used) of the trees of its hosts, sorted by
    zone; first under "" those of all providers. Zones without inventory are left out.
    Array passes only."""
    hosts = state.fleet.hosts
    rows = hosts.live_rows()
    names, codes = zones_of(state, rows, default_zone)
    zones = np.full(state.providers.height, len(names), np.int64)
    roots = hosts.provider[rows]
    zones[roots[roots != NO_ROW]] = np.asarray(codes, np.int64)[roots != NO_ROW]
    found: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in names}
    for row in state.classes.rows():
        table = state.inventories.table(state.classes.index_by_id[row.id])
        if table is None:
            continue
        slots = table.live_rows()
        at = zones[state.providers.root[table.provider[slots]]]
        most, taken = table.amounts(slots)
        counts, capacity, used = (
            np.bincount(at, weights, len(names) + 1).tolist()
            for weights in (None, np.maximum(most, 0.0), taken)
        )
        for code, name in enumerate(names):
            if counts[code]:
                found[name][row.name] = (capacity[code], used[code])
    return {"": totals(state), **{name: found[name] for name in sorted(found)}}


def zones_kept(names: Iterable[str], most: int) -> tuple[str, ...]:
    """The first ``most`` of the zones of which records can be kept, by name."""
    return tuple(sorted(filter(is_zone_name, filter(None, names)))[:most])


def sampled(
    totals: Mapping[str, tuple[float, float]],
    start: int,
    period_s: int,
    most: int,
    zone: str = "",
) -> tuple[UsageRecord, ...]:
    """One look at all resource classes (capacity, used), as the records of a period;
    the first ``most`` of the classes."""
    return tuple(
        UsageRecord(start, period_s, name, 1, capacity, used, used, used, zone)
        for name, (capacity, used) in islice(totals.items(), most)
    )


def rolled_up(
    records: Iterable[UsageRecord], start: int, period_s: int
) -> tuple[UsageRecord, ...]:
    """The records of a period from those of the finer periods within it, by zone and
    class.

    Means are weighted by samples: a day is the mean of its looks, not of its hours.
    """
    of: dict[tuple[str, str], list[UsageRecord]] = {}
    for record in records:
        of.setdefault((record.zone, record.resource_class), []).append(record)
    return tuple(_together(parts, start, period_s) for _, parts in sorted(of.items()))


def _together(parts: list[UsageRecord], start: int, period_s: int) -> UsageRecord:
    samples = sum(part.samples for part in parts)
    least = min(part.used_min for part in parts)
    most = max(part.used_max for part in parts)
    used = math.fsum(part.used_avg * part.samples for part in parts) / samples
    return UsageRecord(
        start,
        period_s,
        parts[0].resource_class,
        samples,
        math.fsum(part.capacity * part.samples for part in parts) / samples,
        least,
        min(max(used, least), most),  # whatever was lost in rounding
        most,
        parts[0].zone,
    )


def whole_periods(
    records: Iterable[UsageRecord], limit: int
) -> tuple[UsageRecord, ...]:
    """At most ``limit`` of ``records``, which come the latest first, now the oldest
    first. A period that is not whole is left out, so that to go on with those before
    the first of these misses none; so nothing may be left."""
    found = list(records)
    kept = found[:limit]
    if len(found) > limit:
        cut = found[limit].start
        kept = [record for record in kept if record.start != cut]
    return tuple(sorted(kept, key=lambda record: (record.start, record.resource_class)))
