"""Candidates that are left while the instances of one request are placed.

Amounts taken by this request are subtracted from the State, so that the second instance
does not get those of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from gantt.model.answers import Candidate
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidate_sources import HostCandidates
from gantt.scheduler.selection.topology_fit import Fitting, Meter, fitting_of
from gantt.state.view import View

_COMPARED: Final = 16
_NAMED: Final = 4


class RemainingCandidates:
    """Candidates of hosts, less what was taken in ``view``. ``fitting``: of a request
    for cells or devices. ``prefers``: of the first few of a host's candidates the one
    that leaves the least of its providers (1), so that others stay whole, or the most
    (-1), so that none is used up; the first one (0). ``is_first``: nothing is taken in
    ``view`` yet."""

    def __init__(
        self,
        view: View,
        candidates: HostCandidates,
        budget: Budget,
        fitting: Fitting | None = None,
        *,
        prefers: int = 0,
        is_first: bool = True,
    ) -> None:
        self._view = view
        self._is_first = is_first
        self._prefers = prefers
        self._candidates = candidates
        self._budget = budget
        self.fitting = fitting
        self._full: set[int] = set()  # what is taken only grows

    @classmethod
    def of(
        cls,
        view: View,
        feasible: FeasibleHosts,
        budget: Budget,
        meter: Meter,
        *,
        is_loose: bool = False,
        is_first: bool = True,
    ) -> RemainingCandidates:
        """Before the first instance is picked. Raises Invalid."""
        fitting = None
        if feasible.policy.fits:
            fitting = fitting_of(view.state, feasible, meter, view)
        is_tight = feasible.policy.options.packing != "spread"
        prefers = -1 if is_loose else 1 if is_tight else 0
        given = view, feasible.candidates, budget, fitting
        return cls(*given, prefers=prefers, is_first=is_first)

    def find_each(self, host_rows: list[int]) -> Iterable[Candidate | None]:
        """Finds a candidate for each host, one after the other, lazily."""
        if self._is_first:
            found = self._candidates.certain(host_rows)
            if found is not None:
                return found
        return map(self.find, host_rows)

    def find(self, host_row: int) -> Candidate | None:
        """The first candidate of a host that still fits, or the preferred one of the
        first few, or None. Raises Spent."""
        if host_row in self._full:
            return None
        found = self._found(host_row)
        if found is None:
            self._full.add(host_row)
        return found

    def _found(self, host_row: int) -> Candidate | None:
        open_ = self._open(host_row)
        if self._prefers:
            few = islice(open_, _COMPARED)
            return min(
                few, key=lambda one: self._prefers * self._left_by(one), default=None
            )
        return next(open_, None)

    def _open(self, host_row: int) -> Iterator[Candidate]:
        """Those with room beside what was taken."""
        if not self._view.mark():
            return self._candidates.of(host_row, self._budget)
        found = self._candidates.of(host_row, self._budget, self._view)
        return (one for one in found if not any(self._lacks(one)))

    def _left_by(self, candidate: Candidate) -> float:
        """What it leaves of the providers that it takes from, in parts of each."""
        left = 0.0
        for uuid, resources in candidate.allocations.items():
            for name, amount in resources.items():
                left += self._candidates.part_left(self._view, uuid, name, amount)
        return left

    def fitting_one(self, host_row: int, first: Candidate) -> Candidate | None:
        """``first``, or the first candidate after it, with which the instance fits into
        the host. Raises Spent."""
        fitting = self.fitting
        if fitting is None or fitting.fits(host_row, first):
            return first
        found = self._open(host_row)
        return next((one for one in found if fitting.fits(host_row, one)), None)

    def renew(self) -> None:
        """The next instance may cost as much as a request for it alone."""
        self._budget.renew()
        if self.fitting is not None:
            self.fitting.renew()

    def take_on(self, host_row: int, candidate: Candidate) -> None:
        """An instance of this request is on the host and uses ``candidate``."""
        self._is_first = False
        self._view.add_each(self._view.slots_of(candidate.allocations))
        if self.fitting is not None:
            self.fitting.take(host_row, candidate)

    def lacking(self, host_row: int) -> frozenset[str]:
        """The classes of which too little is left, beside what was taken: those that
        each of the host's first candidates lacks, else those that any does; empty: it
        has none at all. Raises Spent."""
        few = islice(self._candidates.of(host_row, self._budget), _NAMED)
        each = [frozenset(self._lacks(one)) for one in few]
        if not each:
            return frozenset()
        return frozenset.intersection(*each) or frozenset().union(*each)

    def _lacks(self, candidate: Candidate) -> Iterator[str]:
        """The search checked units; sums are checked here."""
        view, has_room = self._view, self._candidates.has_room
        for uuid, resources in candidate.allocations.items():
            for name, amount in resources.items():
                is_taken = view.more(view.slot(uuid, name))
                if is_taken and not has_room(view, uuid, name, amount):
                    yield name
