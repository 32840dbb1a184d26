"""What all providers can give, what of it is allocated, and how the hosts are.

Apart from usages, which Placement's API asks about: this is to watch a fleet.
"""

from __future__ import annotations

import numpy as np

from gantt.state.column import NO_TIME
from gantt.state.state import State


def totals(state: State) -> dict[str, tuple[float, float]]:
    """Resource class -> (capacity, used), of the classes that have inventory; array
    passes only."""
    found: dict[str, tuple[float, float]] = {}
    for row in state.classes.rows():
        table = state.inventories.table(state.classes.index_by_id[row.id])
        if table is None:
            continue
        live = table.is_live[: table.height]
        if live.any():
            capacity = np.maximum(table.capacity[: table.height][live], 0.0)
            used = table.used[: table.height][live]
            found[row.name] = (float(capacity.sum()), float(used.sum()))
    return found


def host_states(state: State, now: int, down_after: int) -> dict[str, int]:
    """How many hosts are in each state; every host is in one, the first that holds.

    ``disabled``: its service is; ``down``: its service was forced down, or was not seen
    within ``down_after`` of ``now`` (microseconds); ``stale``: it is up and has not
    said what it has left; ``enabled``: requests may go there (see ComputeFilter).
    """
    table = state.fleet.hosts
    rows = table.live_rows()
    seen = table.last_seen_up[rows]
    is_silent = (seen != NO_TIME) & (np.abs(seen - now) > down_after)
    is_disabled = table.is_disabled[rows]
    is_down = ~is_disabled & (table.is_forced_down[rows] | is_silent)
    is_stale = ~is_disabled & ~is_down & ~table.has_state[rows]
    found = {
        name: int(np.count_nonzero(mask))
        for name, mask in (
            ("disabled", is_disabled),
            ("down", is_down),
            ("stale", is_stale),
        )
    }
    return {"enabled": len(rows) - sum(found.values()), **found}
