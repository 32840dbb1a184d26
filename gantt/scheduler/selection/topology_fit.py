"""Whether an instance fits into a host's cells and gets its devices there, exactly.

The masks of filters are necessary conditions over all hosts; this looks at one host at
a time, and only at hosts that would be picked. The committer asks the same again.
"""

from __future__ import annotations

from typing import Protocol

from gantt.model.answers import Candidate
from gantt.model.topology import FitLack, Wanted
from gantt.placement.candidates.combination import Spent
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, TOPOLOGY_FILTER
from gantt.state.state import State
from gantt.state.view import View, pending_on
from gantt.topology.promised_topology import PromisedTopology


class Meter(Protocol):
    """Hosts that were fitted, requests that reached the limit on these, and hosts on
    which the search reached its own."""

    fits: int
    fits_spent: int
    fits_cut: int


class FitsSpent(Spent):
    """Raised when as many hosts were fitted as one request may ask for."""


class Fitting:
    """Fits the instances of one request. ``view`` has what they, and others, took of
    hosts. ``meter``: counts the hosts that were fitted, and which limits were met."""

    def __init__(
        self,
        view: View,
        wanted: Wanted,
        options: SchedulerOptions,
        meter: Meter | None = None,
    ) -> None:
        self._hosts = view.state.fleet.hosts
        self._wanted = wanted
        self._packs = options.packing_host_numa_cells_allocation_strategy
        self._view = view
        # What did not fit a host will not, while others take more of it.
        self._refused: set[tuple[int, tuple[object, ...]]] = set()
        self._most = self._fits_left = options.topology_fits
        self._is_spent = False
        self._meter = meter

    @property
    def filter_name(self) -> str:
        """The filter that would refuse a host that the instance does not fit."""
        return TOPOLOGY_FILTER if self._wanted.cells else DEVICES_FILTER

    def fits(self, row: int, candidate: Candidate) -> bool:
        """Whether the host at ``row`` has what the instance needs beside
        ``candidate``. Raises FitsSpent."""
        pending = self.pending(row, candidate)
        key = row, tuple(pending.providers.items())
        if key in self._refused:
            return False
        if self._fits_left <= 0:
            if self._meter is not None and not self._is_spent:
                self._meter.fits_spent += 1  # once for the request
            self._is_spent = True
            raise FitsSpent
        self._fits_left -= 1
        if self._meter is not None:
            self._meter.fits += 1
        found = self._view.fits(row, pending)
        if isinstance(found, FitLack):
            self._refused.add(key)
            if self._meter is not None:
                self._meter.fits_cut += found.is_of_search
            return False
        return True

    def renew(self) -> None:
        """The next instance may be fitted into as many hosts."""
        self._fits_left = self._most

    def take(self, row: int, candidate: Candidate) -> None:
        """An instance of this request is on the host at ``row``."""
        self._view.promise(row, None, self.pending(row, candidate))

    def pending(self, row: int, candidate: Candidate) -> PromisedTopology:
        """What a claim of ``candidate`` would promise of the host at ``row``."""
        return pending_on(
            self._hosts, row, self._wanted, candidate.mappings, packs=self._packs
        )


def fitting_of(
    state: State,
    feasible: FeasibleHosts,
    meter: Meter | None = None,
    view: View | None = None,
) -> Fitting | None:
    """None: the request asks for neither cells nor devices, or no filter it went
    through looks at them. Raises Invalid."""
    wanted = feasible.wanted
    if wanted is None:
        return None
    options = feasible.policy.options
    return Fitting(View(state) if view is None else view, wanted, options, meter)
