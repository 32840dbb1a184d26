"""Where amounts come from: what hosts report, until the books have taken over.

``use_placement = auto`` begins with reports and turns to the books once every enabled
host has inventory. That is for good: a turn back would forget what is used. So it is
remembered, as a fact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from gantt.state.column import NO_ROW
from gantt.state.fleet_columns import Fleet
from gantt.state.state import State


def stage(state: State) -> Literal["books", "ready", "reports"]:
    """``ready``: every enabled host has inventory, which was not noted yet."""
    if has_turned(state.fleet):
        return "books"
    return "ready" if is_inventoried(state) else "reports"


def has_turned(fleet: Fleet) -> bool:
    """Whether the books decide amounts for good."""
    return fleet.facts.of("switch") is not None


def is_inventoried(state: State) -> bool:
    """Whether every enabled host has inventory in the books; False when there is no
    such host at all."""
    hosts = state.fleet.hosts
    rows = np.flatnonzero(
        hosts.is_live[: hosts.height] & ~hosts.is_disabled[: hosts.height]
    )
    providers = hosts.provider[rows]
    if not len(rows) or (providers == NO_ROW).any():
        return False
    return state.inventories.is_any_of_each(providers.astype(np.intp))
