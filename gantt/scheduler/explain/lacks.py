"""What a host's cells and devices lack for an instance, in words.

Asked for the few hosts that came nearest: each is fitted once, exactly.
"""

from __future__ import annotations

from gantt.errors import GanttError
from gantt.model.answers import Candidate
from gantt.model.topology import Lack
from gantt.placement.candidates.combine import Budget, Spent
from gantt.scheduler.feasibility.candidates import NOTHING
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.selection.fitting import Fitting, fitting_of
from gantt.state.state import State
from gantt.topology.words import sentence


class Lacks:
    """Of one request, as hosts were before its first instance."""

    def __init__(self, state: State, feasible: FeasibleHosts) -> None:
        self._promises = state.fleet.hosts.promises
        self._candidates = feasible.candidates
        self._budget = Budget(feasible.policy.options.explain_budget)
        self._fitting = _fitting(state, feasible)
        # The candidate says which provider has the devices.
        wanted = feasible.wanted if self._fitting else None
        self._has_devices = wanted is not None and bool(wanted.devices)

    def of(self, row: int) -> str | None:
        """What the host at ``row`` lacks; None: nothing."""
        if self._fitting is None:
            return None
        pending = self._fitting.pending(row, self._candidate(row))
        found = self._promises[row].fit(pending)
        return sentence(found) if isinstance(found, Lack) else None

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
