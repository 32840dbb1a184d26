"""A pick for each instance of a request, on the hosts that pass.

The part of a decision that is made again where several instances did not all find a
host: on the same masks and scores, in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.pauses import Pause, never, within
from gantt.scheduler.request.job import spec_of_first
from gantt.scheduler.selection.again import with_more
from gantt.scheduler.selection.held_hosts import hold
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.select import Dice, Pick, seed_of, select
from gantt.scheduler.stages import OTHER, PICK, Mark
from gantt.state.state import State


class Selected(Struct, frozen=True, eq=False):
    """``picks``: for each instance that found a host, its picks, best first: the claim
    takes the first that still holds, alternates come from the others. ``spare``:
    further picks, for the alternates of several instances. ``remaining``,
    ``candidates``: what is left after the picks."""

    feasible: FeasibleHosts
    picks: list[list[Pick]]
    remaining: RemainingHosts
    candidates: RemainingCandidates
    spare: tuple[Pick, ...] = ()


class _Again(Struct, frozen=True, eq=False):
    """Another try on the same hosts: those at the rows ``last`` come last.
    ``is_loose``: of a host's providers those that have the most left are taken."""

    feasible: FeasibleHosts
    last: set[int]
    is_loose: bool


def pick_hosts(
    state: State,
    request: ScheduleRequest,
    source: CandidateSource,
    driver: Driver,
    now: int,
    budget: Budget,
    *,
    rng: Dice | None = None,
    is_trial: bool = False,
    pause: Pause = never,
    held: Mapping[int, HeldHost] = MappingProxyType({}),
    again: _Again | None = None,
    mark: Mark | None = None,
) -> Selected:
    """Picks for as many instances as find a host. ``is_trial``: the driver need not
    cache it; one pick for each is enough. Raises what ``decide`` does."""
    if again is not None:
        feasible = again.feasible
    else:
        spec = spec_of_first(state, request)
        # prepare, candidates, filter, score: ``evaluate``, or the same from a cache
        feasible = driver.feasible_hosts(
            state, spec, source, now=now, budget=budget, is_trial=is_trial, mark=mark
        )
    # select
    if mark is not None:
        mark(PICK if len(feasible.hosts) else OTHER)
    passing, remaining = feasible, RemainingHosts(feasible)
    if held:
        hold(state, remaining, feasible, held, driver.policy.options.choices, budget)
    if again is not None:
        remaining.postpone(again.last)
    if driver.chooser is not None:  # of another package; columns may be newer then
        passing = remaining.ask(driver.chooser, feasible, request.count, seed_of(rng))
    is_loose = again is not None and again.is_loose
    candidates = RemainingCandidates.of(
        state, passing, budget, driver, is_loose=is_loose
    )
    names = request.names
    picks = select(
        *(remaining, candidates, names, driver.policy.options, rng),
        has_alternates=request.return_alternates and not is_trial,
        is_trial=is_trial,
        pause=within(state, passing, pause),
    )
    found = Selected(passing, picks, remaining, candidates)
    is_last = again is not None or driver.chooser is not None
    if is_last or len(picks) == len(names) or len(names) == 1:
        return found

    def attempt(last: set[int], is_loose: bool) -> Selected:
        given = state, request, source, driver, now, budget
        tried = _Again(feasible, last, is_loose)
        return pick_hosts(
            *given, rng=rng, is_trial=is_trial, pause=pause, held=held, again=tried
        )

    return with_more(found, feasible, len(names), attempt)
