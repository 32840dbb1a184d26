"""What a host's cells and devices lack for an instance, in words.

Passes over arrays put all refused hosts in order; the few that come nearest are fitted
once, exactly.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gantt.errors import GanttError
from gantt.model.answers import Candidate
from gantt.model.topology import FitLack
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.fleet_queries import UNREADABLE
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import NOTHING
from gantt.scheduler.feasibility.topology_masks import missing_of
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.selection.topology_fit import Fitting, fitting_of
from gantt.state.column import Floats, Int64s
from gantt.state.state import State
from gantt.topology.cells import missing
from gantt.topology.lack_text import sentence

_STEPS_PER_FIT: Final = 20
"""Of the budget: others wait while hosts are fitted, and there may be very many."""


class Lacks:
    """What hosts lack for one request, as they were before its first instance."""

    def __init__(self, state: State, feasible: FeasibleHosts) -> None:
        self._fleet = state.fleet
        self._promises = state.fleet.hosts.promises
        self._candidates = feasible.candidates
        self._budget = Budget(feasible.policy.options.explain_budget)
        self._fitting = _fitting(state, feasible)
        self._wanted = feasible.wanted if self._fitting else None
        # The candidate says which provider has the devices.
        self._has_devices = self._wanted is not None and bool(self._wanted.devices)

    def about(self, rows: Int64s) -> Floats:
        """float64[n]: about how much the hosts at ``rows`` lack; 0: nothing."""
        if self._wanted is None:
            return np.zeros(len(rows))
        return missing_of(Hosts(self._fleet, rows), self._wanted)

    def fits(self, row: int) -> bool:
        """Whether the host at ``row`` had a place for an instance; where that takes too
        long to say, it is taken to have had one."""
        try:
            if self._fitting is not None:
                self._budget.spend(_STEPS_PER_FIT)
            found = next(self._candidates.of(row, self._budget), None)
        except Spent:
            return True
        return found is not None and self.of(row)[1] is None

    def of(self, row: int) -> tuple[float, str | None]:
        """How much the host at ``row`` lacks, and what; (0, None): nothing."""
        if self._fitting is None:
            return 0.0, None
        pending = self._fitting.pending(row, self._candidate(row))
        found = self._promises[row].fit(pending)
        if isinstance(found, FitLack):
            return missing(found), self._words(row, found)
        return 0.0, None

    def _words(self, row: int, lack: FitLack) -> str:
        """What lacks, and why the host is not known to have it."""
        column = "pci_stats" if lack.what == "devices" else "numa_topology"
        why = self._fleet.hosts.stats[row].get(UNREADABLE, {}).get(column)
        if why is None:
            return sentence(lack)
        return (
            f"{sentence(lack)}; its {column} cannot be read, and counts as unknown: "
            f"{why}"
        )

    def _candidate(self, row: int) -> Candidate:
        if self._has_devices:
            try:
                return next(self._candidates.of(row, self._budget), NOTHING)
            except Spent:
                pass
        return NOTHING


def _fitting(state: State, feasible: FeasibleHosts) -> Fitting | None:
    try:
        return fitting_of(state, feasible)
    except GanttError:
        return None  # refused before, with its own message
