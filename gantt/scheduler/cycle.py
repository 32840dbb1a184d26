"""One decision, top to bottom.

    prepare      pre-filters; the request becomes candidate requests
    candidates   the source's answer: what each host can supply
    filter       a mask per filter; feasible hosts pass all of them
    score        raw scores, normalised, multiplied and summed
    select       a host per instance; the next instance sees this choice
    reserve      one claim for all instances, which the committer checks again
    bind         it is written where amounts are stored, and confirmed
    unreserve    ends a claim that is not returned

``schedule`` is all of it, ``decide`` its pure part, ``evaluate`` that up to *score*."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import BudgetSpent, ClaimLost, GanttError, NoValidHost
from gantt.model.answers import Claimed
from gantt.model.commands import Claim
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.contract import Request
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.explain.why import Rest, too_few, why, why_at_once
from gantt.scheduler.feasibility.candidates import CandidateSource, HostMask
from gantt.scheduler.feasibility.feasible_hosts import (
    FeasibleHosts,
    all_of,
    check_hints,
    filters_of,
    first_masks,
)
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.pauses import Pause, never, within
from gantt.scheduler.policy import Policy
from gantt.scheduler.request.job import of_first
from gantt.scheduler.request.limits import check_count
from gantt.scheduler.scoring.scale import scales_of, total
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.select import Dice, Pick, best_picks, select
from gantt.state.state import State

D = TypeVar("D")
T = TypeVar("T")


class Binder(Protocol):
    """Where a reserved claim is written."""

    def bind(self, claim: Claim, reserved: Claimed) -> None:
        """Write and confirm it. Raises ClaimLost, NoValidHost, Stale, and then nothing
        is written or reserved; OutcomeUnknown, and the claim is left to its lease."""

    def unreserve(self, claim: Claim, reserved: Claimed) -> None:
        """End the claim, and remove what was written for it."""


class Stale(Exception):
    """Candidates were taken since the source listed them. It leaves them out from now
    on, so that trying again is not counted as an attempt."""

    def __init__(self, reason: GanttError | None) -> None:
        super().__init__(str(reason))
        self.reason = reason


def schedule(
    ask: Callable[[bool], CandidateSource],
    decide_on: Callable[[CandidateSource], tuple[D, Claim]],
    submit: Callable[[Claim], Claimed],
    binder: Binder,
    conclude: Callable[[D, Claimed, int], T],
    attempts: int,
) -> T:
    """Find a host for every instance and claim it.

    ``ask(again)``: the source of the next attempt; ``again``: what it listed is out of
    date. ``decide_on``: ``decide`` on the newest State, and the claim. ``conclude``:
    the answer, from the decision, its claim and the number of attempts. Raises
    NoValidHost, and what these raise."""
    tried = misses = 0
    is_again = False
    reason: GanttError | None = None
    while misses < attempts:
        tried += 1
        source = ask(is_again)  # a remote Placement answers here, outside any lock
        is_again = False
        try:
            decided, claim = decide_on(source)  # prepare … select, all on one State
            reserved = submit(claim)  # reserve
            binder.bind(claim, reserved)  # bind, confirm
        except Stale as stale:
            reason = stale.reason
            continue
        except NoValidHost as refusal:
            if not source.is_stale:
                raise
            reason, is_again, misses = refusal, True, misses + 1
            continue
        except ClaimLost as lost:
            reason, misses = lost, misses + 1
            continue
        try:
            return conclude(decided, reserved, tried)
        except BaseException as error:
            binder.unreserve(claim, reserved)
            if not isinstance(error, ClaimLost):
                raise
            reason, misses = error, misses + 1
    raise NoValidHost(
        f"No valid host was found. In {tried} attempts concurrent claims won each "
        f"time; last reason: {reason}"
    )


class Selected(Struct, frozen=True, eq=False):
    """``picks``: per instance, in the order of trial, the first of them for the claim
    (``choices_per_instance``), all for alternates; fewer than instances where hosts ran
    out. ``remaining`` hosts and candidates: after the picks. ``spare``: for alternates
    of many instances."""

    feasible: FeasibleHosts
    picks: list[list[Pick]]
    remaining: RemainingHosts
    candidates: RemainingCandidates
    spare: tuple[Pick, ...] = ()


def decide(
    state: State,
    request: ScheduleRequest,
    source: CandidateSource,
    driver: Driver,
    *,
    now: int,
    rng: Dice | None = None,
    budget: int | None = None,
    pause: Pause = never,
) -> Selected:
    """A pick for every instance, or why there is none: pure. Without ``rng`` the best
    where any of a few would do. ``pause``: wherever others may write meanwhile. Raises
    NoValidHost (with ``why``), Invalid, UnknownName, BudgetSpent, Moved."""
    options = driver.policy.options
    check_count(request, options)
    trials = Trials(
        attempt, state, request, source, driver, now, search_budget=budget, pause=pause
    )
    try:
        found = attempt(
            state, request, source, driver, now, Budget(budget), rng=rng, pause=pause
        )
    except NoValidHost as refusal:
        raise NoValidHost(refusal.message, why_at_once(trials)) from None
    feasible, picks = found.feasible, found.picks
    if len(picks) < request.count:
        # Hosts that are left were tried and refused, else there would be another pick.
        left = found.remaining.left()
        text = too_few(feasible, len(picks), request.count)
        raise NoValidHost(
            text, why(state, feasible, Rest(left, left, len(picks)), trials)
        )
    if not request.return_alternates or len(picks) == 1:
        return found
    wanted = len(picks) + options.max_attempts
    # Every instance has its host: a lack of alternates refuses none.
    with suppress(BudgetSpent):
        spare = best_picks(found.remaining, found.candidates, wanted, options, rng)
        return replace(found, spare=tuple(pick for _, pick in spare))
    return found


def attempt(
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
) -> Selected:
    """Picks for as many instances as find a host. ``is_trial``: the driver need not
    cache it; one pick for each is enough. Raises what ``decide`` does."""
    spec = of_first(state, request)
    # prepare, candidates, filter, score: the driver caches parts of ``evaluate``
    feasible = driver.feasible_hosts(
        state, spec, source, now=now, budget=budget, is_trial=is_trial
    )
    # select
    remaining = RemainingHosts(feasible)
    candidates = RemainingCandidates(feasible.candidates, budget)
    picks = select(
        remaining,
        candidates,
        request.names,
        driver.policy.options,
        rng,
        has_alternates=request.return_alternates and not is_trial,
        is_trial=is_trial,
        pause=within(state, feasible, pause),
    )
    return Selected(feasible, picks, remaining, candidates)


def evaluate(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    policy: Policy,
    now: int,
    budget: Budget,
) -> FeasibleHosts:
    """Every mask and score, computed anew. Raises Invalid, NoValidHost, UnknownName."""
    # prepare
    job = source.prepare(state, spec, policy.options)
    request = Request(job.spec, policy.options, now)
    check_hints(job, policy)
    # candidates
    candidates = source.candidates(state, job, policy.options, budget)
    # filter: those that check hosts one by one come last, and see only what is left
    rows = state.fleet.hosts.live_rows().astype(np.int64)
    every = Hosts(state.fleet, rows)
    masks = list(first_masks(every, candidates, job.spec))
    for one in sorted(filters_of(job, policy), key=lambda one: one.is_costly):
        if one.is_costly:
            left = all_of(masks, len(rows))
            mask = np.ones(len(rows), np.bool_)
            mask[left] = one.mask(every.keep(left), request)
        else:
            mask = one.mask(every, request)
        masks.append(HostMask(one.name, mask))
    hosts = every.keep(all_of(masks, len(rows)))
    # score
    scales = scales_of(hosts, request, policy.weighers)
    weights = total(scales, len(hosts))
    return FeasibleHosts(
        job, candidates, rows, tuple(masks), hosts, request, policy, scales, weights
    )
