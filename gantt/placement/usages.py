"""What projects and users use in all: the one question that sums over consumers.

Apart from the other queries because it is the only one that joins columns; arrays do
it in one pass however many allocations there are.
"""

from __future__ import annotations

import numpy as np

from gantt.model.answers import TypeUsages
from gantt.model.names import UNKNOWN_CONSUMER_TYPE
from gantt.model.requests import UsageQuery
from gantt.state.column import Bools
from gantt.state.state import State

ALL_TYPES = "all"
_NO_TYPE = -1


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
    np.add.at(sums, places, table.used[rows])
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
