"""Whether hosts would have been found for a weaker request.

Each trial is the whole decision once more, for all instances, with the same filters and
weighers, on the newest State, without randomness or caching. Its cost is counted, so
that a refusal takes a limited time; between two trials others may write.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gantt.errors import BudgetSpent, Busy, GanttError
from gantt.model.diagnosis import Relaxation
from gantt.model.spec import Destination, RequestSpec, ResourceGroup, ScheduleRequest
from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.known_names import check_names
from gantt.scheduler.explain.concessions import conceded
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.pauses import Pause, RowsMoved, never
from gantt.scheduler.request.limits import check_request
from gantt.scheduler.selection.picks import pick_hosts
from gantt.state.state import State

ROWS_PER_STEP: Final = 1024
"""One step of a search costs about as much as an array pass over so many rows."""
_PASSES: Final = 25
# What a pick costs, however few hosts there are.
_PICK: Final = 4
# What fitting a host costs, which is up to half a millisecond.
_FIT: Final = 20
# What a driver of another package may take is unknown: ask it a few times only.
_CHOICE: Final = 2_000
# Columns of reported facts are cached for few extra specs; more are made each time.
_SPECS_KEPT: Final = 32
_PASSES_TO_MAKE: Final = 80


def _names(spec: RequestSpec, rows: int) -> int:
    """Steps to look up the aggregates and traits that are named: a pass for each set of
    aggregates and each required trait, and as much for each name."""
    asked: list[Destination | ResourceGroup] = [*spec.requested_resources]
    if spec.requested_destination is not None:
        asked.append(spec.requested_destination)
    traits = [
        len(one.required_traits) * rows + len(one.forbidden_traits)
        for one in spec.requested_resources
    ]
    return sum(traits) + sum(
        rows * len(one.aggregates)
        + sum(map(len, one.aggregates))
        + len(one.forbidden_aggregates)
        for one in asked
    )


class Trials:
    """The decision on one State, for variants of ``request``. Of a remote Placement,
    only the candidates in ``source`` are known."""

    def __init__(
        self,
        state: State,
        request: ScheduleRequest,
        source: CandidateSource,
        driver: Driver,
        now: int,
        search_budget: int | None = None,
        give_way: Pause = never,
        held: Mapping[int, HeldHost] = MappingProxyType({}),
    ) -> None:
        """``give_way``: between trials and within, where others may write and
        decide. ``held``: as in ``cycle.decide``."""
        self.state, self.request, self.driver = state, request, driver
        self.source = source
        self._give_way, self._held = give_way, held
        self._began = state.applied
        self._now, self._search_budget = now, search_budget
        self._known: dict[tuple[Relaxation, ...], bool] = {}
        self._budget = Budget(driver.policy.options.change_budget)

    def helps(self, *given_up: Relaxation) -> bool:
        """Whether every instance would have a host without these. Raises Spent."""
        known = self._known.get(given_up)
        if known is None:
            try:
                self._give_way()
            except (Busy, RowsMoved):  # what is found from here on may be outdated
                raise Spent from None
            known = self._known[given_up] = self._tried(given_up)
        return known

    def is_allowed(self, given_up: Relaxation) -> bool:
        """Whether what is left of the request would be asked for at all: a hint, say,
        is refused where the filter that reads it is off."""
        made = self._made((given_up,))
        if made is None:
            return False
        try:
            check_names(self.state, made[0].spec, made[1])
        except GanttError:
            return False
        return True

    @property
    def has_moved(self) -> bool:
        """Whether others wrote since this was made, so that earlier trials may be
        wrong."""
        return self.state.applied != self._began

    def still_help(self, given_up: tuple[Relaxation, ...]) -> bool:
        """Whether the changes help on the current State, beyond the budget; False also
        where the request needs no change any more."""
        self._budget.renew()
        try:
            return bool(given_up) and not self._tried(()) and self._tried(given_up)
        except Spent:
            return False

    def charge(self, rows: int) -> None:
        """A few array passes over so many rows. Raises Spent."""
        self._budget.spend(1 + rows // ROWS_PER_STEP)

    def _tried(self, given_up: tuple[Relaxation, ...]) -> bool:
        made = self._made(given_up)
        return made is not None and self._fits(*made)

    def _made(
        self, given_up: tuple[Relaxation, ...]
    ) -> tuple[ScheduleRequest, Driver] | None:
        """The request and the driver without these; None: the driver needs one."""
        driver, request = self.driver, self.request
        for one in given_up:
            if one.kind == "filter":
                less = driver.without(one.names[0])
                if less is None:
                    return None
                driver = less
            else:
                request = conceded(request, one)
        return request, driver

    def _fits(self, request: ScheduleRequest, driver: Driver) -> bool:
        rows = 1 + self.state.fleet.hosts.count // ROWS_PER_STEP
        specs = len(request.spec.flavor.extra_specs)
        more = specs if specs <= _SPECS_KEPT else specs * _PASSES_TO_MAKE
        asking = _CHOICE if driver.chooser is not None else 0
        self._budget.spend(
            rows * (_PASSES + more) + asking + _names(request.spec, rows)
        )
        limit = self._search_budget
        left = (self._budget.limit or 0) - self._budget.steps
        steps = Budget(left if limit is None else min(limit, left))
        picked, trial = 0, driver.trial()
        try:
            check_request(request, driver.policy.options)
            check_names(self.state, request.spec, driver)
            picked = self._picked(request, trial, steps)
        except (Busy, RowsMoved):
            # Unknown whether it helps; others wait meanwhile.
            raise Spent from None
        except (BudgetSpent, Spent):
            if steps.limit != limit:
                raise Spent from None
        except GanttError:
            return False
        finally:
            self.driver.add_counts(trial)
            found = (rows + _PICK) * picked + _FIT * trial.fits
            self._budget.steps += steps.steps + found
        return picked == request.count

    def _picked(self, request: ScheduleRequest, driver: Driver, steps: Budget) -> int:
        given = self.state, request, self.source, driver, self._now, steps
        found = pick_hosts(*given, is_trial=True, pause=self._give_way, held=self._held)
        return len(found.picks)
