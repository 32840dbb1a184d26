"""All hosts as columns, or those that changed since: for a map of the fleet.

Array passes and look-ups by row only: it holds the columns for milliseconds, however
many hosts there are, and a map asks again several times in a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.model.fleet_map import ClassColumns, FleetMap, Sets
from gantt.model.names import MAX_INT
from gantt.placement.usages import states_of
from gantt.state.bits import BitMatrix
from gantt.state.column import NO_ROW, Floats, time_out
from gantt.state.host_table import Hosts
from gantt.state.state import State

MOST_METRICS: Final = 32
"""Metrics by name; others are left out."""
_ZONE: Final = "availability_zone"

Rows = NDArray[np.intp]


class MapTerms(Struct, frozen=True):
    """``now``, ``down_after``: microseconds, see ``host_states``. ``after``: what an
    earlier answer knew, ``State.applied`` and its time; None: nothing."""

    now: int
    down_after: int
    default_zone: str
    after: tuple[int, int] | None = None


def fleet_map(state: State, terms: MapTerms, epoch: str) -> FleetMap:
    """``epoch``: of this State, a prefix of ``place``."""
    table = state.fleet.hosts
    touched = _touched(state, terms)
    is_whole = touched is None
    changed = np.arange(table.height) if touched is None else touched
    is_live = table.is_live[changed]
    rows = changed[is_live]
    zones, zone = _zones(state, rows, terms.default_zone)
    chosen = rows.tolist()
    aggregates = {index: uuid for uuid, index in state.fleet.aggregates.index.items()}
    bears = _sets(table.aggregates, chosen, aggregates)
    named = state.fleet.aggregates.by_uuid
    return FleetMap(
        f"{epoch}-{state.applied}-{terms.now}",
        state.revision,
        terms.now,
        is_whole,
        tuple(chosen),
        () if is_whole else tuple(changed[~is_live].tolist()),
        tuple(table.hosts[row] for row in chosen),
        tuple(_node(table, row) for row in chosen),
        tuple(states_of(state, rows, terms.now, terms.down_after).tolist()),
        zones,
        zone,
        bears,
        tuple(named[uuid].name for uuid in bears.names),
        _traits(state, rows),
        tuple(_updated_at(table, row) for row in chosen),
        tuple(table.num_instances[rows].tolist()),
        dict(_classes(state, rows)),
        _metrics(table, chosen),
    )


def _touched(state: State, terms: MapTerms) -> Rows | None:
    """Rows that changed since; None: all may have."""
    if terms.after is None:
        return None
    stamp, then = terms.after
    fleet, table = state.fleet, state.fleet.hosts
    # What is said of many hosts at once.
    if stamp > state.applied or fleet.context_touched > stamp:
        return None
    changed = table.touched[: table.height] > stamp
    rows = table.live_rows()
    before = states_of(state, rows, then, terms.down_after)
    # Falling silent changes no row.
    changed[rows] |= before != states_of(state, rows, terms.now, terms.down_after)
    return np.flatnonzero(changed)


def _node(table: Hosts, row: int) -> str | None:
    node = table.nodes[row]
    return None if node == table.hosts[row] else node


def _updated_at(table: Hosts, row: int) -> int | None:
    updated_at = time_out(table.updated_at[row])
    return time_out(table.created_at[row]) if updated_at is None else updated_at


def _zones(
    state: State, rows: Rows, default: str
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The zones, and the number of each host's: that of the first of its aggregates
    that names one, else the default."""
    zones = {default: 0}
    found = np.zeros(len(rows), np.int64)
    aggregates = state.fleet.hosts.aggregates
    height = state.fleet.hosts.height
    for index, zone in reversed(list(state.fleet.aggregates.having(_ZONE).items())):
        code = zones.setdefault(zone, len(zones))
        found[aggregates.any_of((index,), height)[rows]] = code
    return tuple(zones), tuple(found.tolist())


def _traits(state: State, rows: Rows) -> Sets:
    """Those of each host's own provider."""
    providers = state.fleet.hosts.provider[rows].tolist()
    known = [one for one in dict.fromkeys(providers) if one != NO_ROW]
    names = {index: state.traits.at(index).name for index in _labels(state, known)}
    return _sets(state.provider_traits, providers, names)


def _labels(state: State, providers: Sequence[int]) -> Iterator[int]:
    """The traits that any of ``providers`` bears."""
    seen: set[int] = set()
    for row in _distinct(state.provider_traits, providers).values():
        seen.update(state.provider_traits.labels_of(row))
    return iter(sorted(seen))


def _distinct(matrix: BitMatrix, rows: Sequence[int]) -> dict[bytes, int]:
    """Each set of labels, with one row that bears it."""
    return dict(zip(matrix.patterns(rows), rows, strict=True))


def _sets(matrix: BitMatrix, rows: Sequence[int], names: dict[int, str]) -> Sets:
    """``names``: by label. A row of NO_ROW bears none."""
    if not rows:
        return Sets((), (), ())
    numbers = {label: number for number, label in enumerate(names)}
    patterns = matrix.patterns([max(row, 0) for row in rows])
    sets: dict[tuple[int, ...], int] = {(): 0}
    code_of: dict[bytes, int] = {}
    of = []
    for row, pattern in zip(rows, patterns, strict=True):
        if row == NO_ROW:
            of.append(0)
            continue
        code = code_of.get(pattern)
        if code is None:
            labels = tuple(numbers[label] for label in matrix.labels_of(row))
            code = code_of[pattern] = sets.setdefault(labels, len(sets))
        of.append(code)
    return Sets(tuple(names.values()), tuple(sets), tuple(of))


def _classes(state: State, rows: Rows) -> Iterator[tuple[str, ClassColumns]]:
    """Every class that a host has, summed over the tree of its provider."""
    providers = state.fleet.hosts.provider[rows]
    has_provider = providers != NO_ROW
    roots = state.providers.root[np.where(has_provider, providers, 0)]
    reported = _reported(state.fleet.hosts, rows)
    for named in state.classes.rows():
        table = state.inventories.table(state.classes.index_by_id[named.id])
        capacity: Floats = np.zeros(len(rows))
        used: Floats = np.zeros(len(rows))
        if table is not None:
            slots = table.live_rows()
            of = state.providers.root[table.provider[slots]]
            most = np.clip(np.floor(table.capacity[slots]), 0.0, MAX_INT)
            capacity = _sums(of, most, state.providers.height)[roots]
            used = _sums(of, table.used[slots], state.providers.height)[roots]
        capacity, used = capacity * has_provider, used * has_provider
        if named.name in reported:
            said, taken = reported[named.name]
            capacity, used = capacity + said, used + taken
        if capacity.any() or used.any():
            yield named.name, ClassColumns(_whole(capacity), _whole(used))


def _sums(of: Any, amounts: Any, height: int) -> Floats:
    found = np.bincount(of, weights=amounts, minlength=height)
    return found.astype(np.float64)


def _reported(table: Hosts, rows: Rows) -> dict[str, tuple[Floats, Floats]]:
    """What hosts without a provider report: class -> capacity, used."""
    is_alone = table.provider[rows] == NO_ROW
    if not is_alone.any():
        return {}
    ram, disk = table.total_ram_mb[rows], table.total_disk_gb[rows]
    pairs = {
        "VCPU": (table.vcpus_total[rows], table.vcpus_used[rows], table.cpu_ratio),
        "MEMORY_MB": (ram, ram - table.free_ram_mb[rows], table.ram_ratio),
        "DISK_GB": (disk, disk - table.free_disk_mb[rows] // 1024, table.disk_ratio),
    }
    return {
        name: (
            np.floor(total * np.where(ratio[rows] > 0, ratio[rows], 1.0)) * is_alone,
            np.maximum(used, 0) * is_alone,
        )
        for name, (total, used, ratio) in pairs.items()
    }


def _whole(amounts: Floats) -> tuple[int, ...]:
    return tuple(amounts.astype(np.int64).tolist())


def _metrics(table: Hosts, rows: Sequence[int]) -> dict[str, tuple[float | None, ...]]:
    """The first metrics by name, of all that are reported."""
    reports = [_values(table.stats[row].get("metrics")) for row in rows]
    names = sorted({name for report in reports for name in report})[:MOST_METRICS]
    return {name: tuple(report.get(name) for report in reports) for name in names}


def _values(report: Any) -> dict[str, float]:
    """Metric -> value of one report; what has no number is left out."""
    metrics: Iterable[Any] = report if isinstance(report, list) else ()
    return {
        one["name"]: one["value"]
        for one in metrics
        if isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("value"), int | float)
    }
