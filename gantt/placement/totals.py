"""What all providers can give, and what of it is allocated, by resource class.

Apart from usages, which Placement's API asks about: this is for who watches a fleet.
"""

from __future__ import annotations

import numpy as np

from gantt.state.state import State


def totals(state: State) -> dict[str, tuple[float, float]]:
    """Resource class -> (capacity, used), of the classes that have inventory; array
    passes only."""
    found: dict[str, tuple[float, float]] = {}
    for row in state.classes.rows():
        table = state.inventories.table(state.classes.index_of_id(row.id))
        if table is None:
            continue
        live = table.is_live[: table.height]
        if live.any():
            capacity = np.maximum(table.capacity[: table.height][live], 0.0)
            used = table.used[: table.height][live]
            found[row.name] = (float(capacity.sum()), float(used.sum()))
    return found
