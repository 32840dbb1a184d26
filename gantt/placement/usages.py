"""Sums: what projects and users use, and what all hosts have and use.

Apart from the other queries because arrays do these in one pass, however many
allocations there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gantt.model.answers import TypeUsages
from gantt.model.fleet_map import STATES
from gantt.model.names import UNKNOWN_CONSUMER_TYPE
from gantt.model.requests import UsageQuery
from gantt.state.column import NO_TIME, Bools
from gantt.state.state import State

ALL_TYPES = "all"
_NO_TYPE = -1
_ENABLED, _DISABLED, _DOWN, _STALE = range(len(STATES))


def total_usages(state: State, query: UsageQuery) -> dict[str, TypeUsages]:
    """Sums per consumer type, or under the single key "all".

    Types without consumers are left out; nothing used at all is an empty mapping.
    """
    mine = _consumers(state, query)
    if mine is None or not mine.any():
        return {}
    table = state.allocations
    rows = table.live_rows()
    rows = rows[mine[table.consumer[rows]]]
    together = not query.by_type or query.consumer_type == ALL_TYPES
    types = state.consumers.type_id[table.consumer[rows]]
    if together:
        types = np.full(len(rows), _NO_TYPE, np.int64)
    found = {}
    for type_id in np.unique(types).tolist():
        chosen = rows[types == type_id]
        found[_name(state, type_id, together)] = _sum(state, chosen)
    return found


def _consumers(state: State, query: UsageQuery) -> Bools | None:
    """bool[consumers] that count, or None where a name leads nowhere."""
    table = state.consumers
    project = state.projects.find(query.project_id)
    if project is None:
        return None
    mask: Bools = table.project_id[: table.height] == project.id
    if query.user_id is not None:
        user = state.users.find(query.user_id)
        if user is None:
            return None
        mask &= table.user_id[: table.height] == user.id
    wanted = query.consumer_type
    if wanted is None or wanted == ALL_TYPES:
        return mask
    type_id = _NO_TYPE
    if wanted != UNKNOWN_CONSUMER_TYPE:
        known = state.consumer_types.find(wanted)
        if known is None:
            return None
        type_id = known.id
    mask &= table.type_id[: table.height] == type_id
    return mask


def _sum(state: State, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> TypeUsages:
    table = state.allocations
    classes, places = np.unique(table.class_index[rows], return_inverse=True)
    sums = np.zeros(len(classes), np.int64)
    np.add.at(sums, places, table.amount[rows])
    named = sorted(
        zip((state.classes.at(i) for i in classes.tolist()), sums, strict=True),
        key=lambda pair: pair[0].id,
    )
    return TypeUsages(
        len(np.unique(table.consumer[rows])),
        {row.name: int(amount) for row, amount in named},
    )


def _name(state: State, type_id: int, together: bool) -> str:
    if together:
        return ALL_TYPES
    if type_id == _NO_TYPE:
        return UNKNOWN_CONSUMER_TYPE
    return state.consumer_types.name_of_id(type_id)


def totals(state: State) -> dict[str, tuple[float, float]]:
    """Resource class -> (capacity, used), of the classes that have inventory; array
    passes only."""
    found: dict[str, tuple[float, float]] = {}
    for row in state.classes.rows():
        table = state.inventories.table(state.classes.index_by_id[row.id])
        if table is None:
            continue
        capacity, used = table.amounts(table.live_rows())
        if len(used):
            most = float(np.maximum(capacity, 0.0).sum())
            found[row.name] = (most, float(used.sum()))
    return found


def host_states(state: State, now: int, down_after: int) -> dict[str, int]:
    """How many hosts are in each state; every host is in one, the first that holds.

    ``disabled``: its service is; ``down``: its service was forced down, or was not seen
    within ``down_after`` of ``now`` (microseconds); ``stale``: it is up and has not
    said what it has left; ``enabled``: requests may go there (see ComputeFilter).
    """
    rows = state.fleet.hosts.live_rows()
    counts = np.bincount(states_of(state, rows, now, down_after), minlength=len(STATES))
    return dict(zip(STATES, counts.tolist(), strict=True))


def states_of(
    state: State, rows: NDArray[np.intp], now: int, down_after: int
) -> NDArray[np.intp]:
    """intp[rows]: the state of each, as its number in STATES; see ``host_states``."""
    table = state.fleet.hosts
    seen = table.last_seen_up[rows]
    is_silent = (seen != NO_TIME) & (np.abs(seen - now) > down_after)
    found: NDArray[np.intp] = np.select(
        [
            table.is_disabled[rows],
            table.is_forced_down[rows] | is_silent,
            ~table.has_state[rows],
        ],
        [_DISABLED, _DOWN, _STALE],
        _ENABLED,
    ).astype(np.intp)
    return found
