"""How many bookings of a host may be unconfirmed at once: what is starting there.

As with server groups, hosts are picked by it and the committer asks it again. It lies
below the scheduler because both do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gantt.model.rows import BookingRow
from gantt.state.column import Int64s
from gantt.state.fleet_columns import Fleet
from gantt.state.view import View

_ANY: Final = 2**31


def most(fleet: Fleet, row: int, usual: int) -> int:
    """How many the host at ``row`` may start at once, as its label says, else
    ``usual``; 0: any number."""
    return fleet.facts.starts.get(fleet.hosts.hosts[row], usual)


def may_start(view: View, row: int, usual: int | None, old: BookingRow | None) -> bool:
    """Whether the host at ``row`` may have one more that is not confirmed, beside what
    was put there in ``view``. ``usual`` None: nothing is started; ``old``: the claim
    that makes way for it."""
    fleet = view.state.fleet
    cap = 0 if usual is None else most(fleet, row, usual)
    if not cap:
        return True
    host_id, put = int(fleet.hosts.id[row]), view.placed.get(fleet.hosts.hosts[row], ())
    count = int(fleet.hosts.starting[row]) + sum(one.host_id == host_id for one in put)
    if old is not None and old.host_id == host_id:
        count -= old.is_starting
    return count < cap


def left(fleet: Fleet, usual: int) -> Int64s | None:
    """int64[height]: how many more each host may start now, negative where there are
    too many already; None: no host has a limit."""
    told = fleet.facts.starts
    if not (usual or told):
        return None
    hosts, height = fleet.hosts, fleet.hosts.height
    caps = np.full(height, usual or _ANY, np.int64)
    for name, cap in told.items():
        caps[list(hosts.rows_of(name))] = cap or _ANY
    found: Int64s = caps - hosts.starting[:height]
    return found
