"""All hosts as columns, or those that changed since: for a map of the fleet.

Array passes and look-ups by row only: it holds the columns for milliseconds, however
many hosts there are, and a map asks again several times in a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gantt.model.fleet_map import ClassColumns, FleetMap, Sets
from gantt.model.names import MAX_INT
from gantt.placement.usages import states_of
from gantt.state.bits import BitMatrix
from gantt.state.column import NO_ROW, NO_TIME, Floats
from gantt.state.host_table import HostTable
from gantt.state.state import State

MOST_METRICS: Final = 32
"""Metrics by name; others are left out."""
_ZONE: Final = "availability_zone"
# Hosts between two pauses.
_AT_ONCE: Final = 2000

Rows = NDArray[np.intp]


def _go_on() -> None:
    """Do not pause."""


class MapTerms(Struct, frozen=True):
    """``now``, ``down_after``: microseconds, see ``host_states``. ``after``: what an
    earlier answer knew, ``State.applied`` and its time; None: nothing."""

    now: int
    down_after: int
    default_zone: str
    after: tuple[int, int] | None = None


def fleet_map(
    state: State, terms: MapTerms, epoch: str, pause: Callable[[], None] = _go_on
) -> FleetMap:
    """``epoch``: of this State, a prefix of ``place``. ``pause`` is called between
    columns, and may let others change the State: what they change is in the next
    answer."""
    # First, so that whatever changes during a pause is touched after it.
    place, revision = f"{epoch}-{state.applied}-{terms.now}", state.revision
    table = state.fleet.hosts
    touched = _touched(state, terms)
    is_whole = touched is None
    changed = np.arange(table.height) if touched is None else touched
    is_live = table.is_live[changed]
    rows = changed[is_live]
    chosen = rows.tolist()
    zones, zone = zones_of(state, rows, terms.default_zone)
    pause()
    aggregates, aggregate_names = _aggregates(state, chosen)
    pause()
    traits = _traits(state, rows)
    pause()
    return FleetMap(
        place,
        revision,
        terms.now,
        is_whole,
        tuple(chosen),
        () if is_whole else tuple(changed[~is_live].tolist()),
        tuple([table.hosts[row] for row in chosen]),
        tuple([_node(table, row) for row in chosen]),
        tuple(states_of(state, rows, terms.now, terms.down_after).tolist()),
        zones,
        zone,
        aggregates,
        aggregate_names,
        traits,
        _updated_at(table, rows),
        tuple(table.num_instances[rows].tolist()),
        dict(_classes(state, rows)),
        _metrics(table, chosen, pause),
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


def _node(table: HostTable, row: int) -> str | None:
    node = table.nodes[row]
    return None if node == table.hosts[row] else node


def _updated_at(table: HostTable, rows: Rows) -> tuple[int | None, ...]:
    updated_at, created_at = table.updated_at[rows], table.created_at[rows]
    latest = np.where(updated_at == NO_TIME, created_at, updated_at).tolist()
    return tuple([None if at == NO_TIME else at for at in latest])


def zones_of(
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


def _aggregates(state: State, rows: Sequence[int]) -> tuple[Sets, tuple[str, ...]]:
    """Those of each host, by uuid, and their names."""
    known = state.fleet.aggregates
    uuids = {index: uuid for uuid, index in known.index.items()}
    found = _sets(state.fleet.hosts.aggregates, rows, uuids.__getitem__)
    return found, tuple(known.by_uuid[uuid].name for uuid in found.names)


def _traits(state: State, rows: Rows) -> Sets:
    """Those of each host's own provider."""
    providers = state.fleet.hosts.provider[rows].tolist()
    traits = state.traits
    return _sets(state.provider_traits, providers, lambda one: traits.at(one).name)


def _sets(matrix: BitMatrix, rows: Sequence[int], name: Callable[[int], str]) -> Sets:
    """``name``: of a label. A row of NO_ROW bears none."""
    patterns = matrix.patterns([max(row, 0) for row in rows])
    numbers: dict[int, int] = {}
    sets: list[tuple[int, ...]] = [()]
    code_of: dict[bytes, int] = {}
    of = []
    for row, pattern in zip(rows, patterns, strict=True):
        code = 0 if row == NO_ROW else code_of.get(pattern)
        if code is None:
            labels = matrix.labels_of(row)
            sets.append(tuple(numbers.setdefault(one, len(numbers)) for one in labels))
            code = code_of[pattern] = len(sets) - 1
        of.append(code)
    return Sets(tuple(map(name, numbers)), tuple(sets), tuple(of))


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
            whole, taken = table.amounts(slots)
            most = np.clip(np.floor(whole), 0.0, MAX_INT)
            capacity = _sums(of, most, state.providers.height)[roots]
            used = _sums(of, taken, state.providers.height)[roots]
        capacity, used = capacity * has_provider, used * has_provider
        if named.name in reported:
            said, told = reported[named.name]
            capacity, used = capacity + said, used + told
        if capacity.any() or used.any():
            yield named.name, ClassColumns(_whole(capacity), _whole(used))


def _sums(of: Any, amounts: Any, height: int) -> Floats:
    found = np.bincount(of, weights=amounts, minlength=height)
    return found.astype(np.float64)


def _reported(table: HostTable, rows: Rows) -> dict[str, tuple[Floats, Floats]]:
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
            np.floor(total * ratio[rows]) * is_alone,
            np.maximum(used, 0) * is_alone,
        )
        for name, (total, used, ratio) in pairs.items()
    }


def _whole(amounts: Floats) -> tuple[int, ...]:
    return tuple(amounts.astype(np.int64).tolist())


def _metrics(
    table: HostTable, rows: Sequence[int], pause: Callable[[], None]
) -> dict[str, tuple[float | None, ...]]:
    """The first metrics by name, of all that are reported."""
    reports = []
    for start in range(0, len(rows), _AT_ONCE):
        pause()
        reports += [
            _values(table.stats[row].get("metrics"))
            for row in rows[start : start + _AT_ONCE]
        ]
    names = sorted({name for report in reports for name in report})[:MOST_METRICS]
    return {name: tuple([one.get(name) for one in reports]) for name in names}


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
