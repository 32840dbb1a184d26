"""Hosts that start as many bookings at once as they may, while instances are picked.

Such a host is shut, not removed: it may have room for others a moment later, and a
refusal says how many it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gantt.placement import start_caps
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import HostMask
from gantt.scheduler.held_host import HeldHost
from gantt.state.column import Bools, Int64s
from gantt.state.fleet_columns import Fleet

STARTS: Final = "starts at once"
_MOST_SAID: Final = 3


class StartPicks:
    """``left``: int64[height], how many more each host may start."""

    def __init__(self, fleet: Fleet, left: Int64s, usual: int) -> None:
        self._fleet, self._usual = fleet, usual
        self.left = left

    def shut(self, rows: Int64s) -> Bools:
        """bool[n]: which of the hosts at ``rows`` may start no other."""
        found: Bools = self.left[rows] < 1
        return found

    def put(self, row: int, count: int = 1) -> None:
        """So many more are on the host at ``row``."""
        self.left[row] -= count

    def mask(self, feasible: FeasibleHosts) -> HostMask:
        """What is left of all hosts."""
        return HostMask(STARTS, ~self.shut(feasible.all_rows))

    def said(self, row: int) -> str:
        """How many the host at ``row``, which has a limit, starts."""
        most = start_caps.most(self._fleet, row, self._usual)
        return f"starts {most - int(self.left[row])} of {most} at once"

    def words(self, feasible: FeasibleHosts) -> str:
        """Which hosts that pass all else are shut; "": none."""
        fleet, rows = self._fleet, feasible.hosts.rows
        shut = rows[self.shut(rows)].tolist()
        if not shut:
            return ""
        said = [
            f"{fleet.hosts.hosts[row]} {self.said(row)}" for row in shut[:_MOST_SAID]
        ]
        more = len(shut) - len(said)
        said += [f"{more} more hosts start as many as they may"] if more else []
        return (
            f"{', '.join(said)}: confirm what has started, ask again later, or raise "
            "max_starts of [scheduler] or the label 'starts' of the host."
        )


def start_picks(
    feasible: FeasibleHosts, held: Mapping[int, HeldHost]
) -> StartPicks | None:
    """None: no host has a limit, or nothing is started. ``held``: what the same demand
    placed before counts."""
    fleet, usual = feasible.hosts.fleet, feasible.policy.options.max_starts
    left = None
    if not feasible.job.spec.is_rebuild:
        left = start_caps.left(fleet, usual)
    if left is None:
        return None
    found = StartPicks(fleet, np.array(left), usual)
    for row, one in held.items():
        if one.is_firm:
            found.put(row, one.count)
    return found
