"""One decision, top to bottom: pure.

    prepare      pre-filters; the request becomes candidate requests
    candidates   the source's answer: what each host can supply
    filter       a mask per filter; feasible hosts pass all of them
    score        raw scores, normalised, multiplied and summed
    select       a host per instance; the next instance sees this choice

``pick_hosts`` goes through them; the first four are ``evaluation``.
``engine.scheduling_cycle`` claims what is selected.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from gantt.errors import NoValidHost
from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.refusal_reason import Ending, why, why_at_once
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.pauses import Pause, never
from gantt.scheduler.request.job import spec_of_first
from gantt.scheduler.selection.host_choice import RandomSource, spare_picks
from gantt.scheduler.selection.picks import InstancePicks, pick_hosts
from gantt.scheduler.stages import EXPLAIN, Mark
from gantt.state.state import State


class TooFew(NoValidHost):
    """Fewer than the ``wanted`` instances found a host: ``found``."""

    def __init__(self, found: InstancePicks, wanted: int) -> None:
        picks, trouble = len(found.picks), found.feasible.candidates.trouble
        text = "No valid host was found."
        if not len(found.feasible.all_rows):
            text += (
                " No host has reported yet: send what they have with "
                "update_resource_stats."
            )
        elif picks or wanted > 1:
            text += (
                f" There are not enough hosts available: {wanted} instances were asked "
                f"for, {picks} {'has' if picks == 1 else 'have'} a place."
            )
        if trouble:
            text += f" {trouble}"
        super().__init__(" ".join((text, *found.related)))
        self.found = found


def decide(
    state: State,
    request: ScheduleRequest,
    source: CandidateSource,
    driver: Driver,
    *,
    now: int,
    rng: RandomSource | None = None,
    budget: int | None = None,
    pause: Pause = never,
    held: Mapping[int, HeldHost] = MappingProxyType({}),
    mark: Mark | None = None,
) -> InstancePicks:
    """A pick for every instance, or that there are too few hosts: pure. ``request`` is
    within its limits. Without ``rng`` the best where any of a few would do. ``pause``:
    wherever others may write meanwhile. ``held``: hosts that were advised to others, by
    row. ``mark``: is told of the stages. Raises NoValidHost (TooFew, once hosts were
    judged), Invalid, UnknownName, BudgetSpent, Moved."""
    options = driver.policy.options
    given = state, request, source, driver, now, Budget(budget)
    found = pick_hosts(*given, rng=rng, pause=pause, held=held, mark=mark)
    picks = found.picks
    if found.domains is not None:
        driver.relations_cut += found.domains.is_cut
    if len(picks) < request.count:
        raise TooFew(found, request.count)
    if not request.return_alternates or len(picks) == 1:
        return found
    # Alternates: Nova builds on up to ``max_attempts`` hosts.
    spare = spare_picks(found.remaining, found.candidates, len(picks), options, rng)
    return replace(found, spare=spare)


def feasible_for(
    state: State,
    request: ScheduleRequest,
    source: CandidateSource,
    driver: Driver,
    now: int,
    budget: Budget,
) -> FeasibleHosts:
    """The hosts to choose from for the first instance. Raises what ``decide`` does, but
    TooFew."""
    spec = spec_of_first(state, request)
    return driver.feasible_hosts(state, spec, source, now=now, budget=budget)


def explained(
    refusal: NoValidHost, trials: Trials, mark: Mark | None = None
) -> NoValidHost:
    """The refusal of ``decide`` with what stopped the request and what would help.
    ``trials``: of that request, on the same State. A source that is stale is asked
    again, and its refusal is not told. Raises Moved."""
    if trials.source.is_stale:
        return refusal
    if mark is not None:
        mark(EXPLAIN)
    if not isinstance(refusal, TooFew):
        return NoValidHost(refusal.message, why_at_once(trials))
    found = refusal.found
    # These have no candidate, else there would be another pick.
    left = found.remaining.left()
    ending = Ending(left, left, len(found.picks), found.kept_from, found.starts)
    told = why(trials.state, found.feasible, ending, trials)
    return NoValidHost(refusal.message, replace(told, related=found.related))
