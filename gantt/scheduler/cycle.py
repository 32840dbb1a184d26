"""One decision, top to bottom.

    prepare      pre-filters; the request becomes candidate requests
    candidates   the source's answer: what each host can supply
    filter       a mask per filter; feasible hosts pass all of them
    score        raw scores, normalised, multiplied and summed
    select       a host per instance; the next instance sees this choice
    reserve      one claim for all instances, which the committer checks again
    bind         it is written where amounts are stored, and confirmed
    unreserve    ends a bound claim whose answer cannot be made

``schedule`` is all of it, ``decide`` its pure part, ``evaluate`` that up to *score*."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from gantt.errors import ClaimLost, GanttError, NoValidHost
from gantt.model.answers import Claimed
from gantt.model.commands import Claim
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.contract import Request
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.explain.why import Ending, why, why_at_once
from gantt.scheduler.feasibility.candidates import CandidateSource, HostMask
from gantt.scheduler.feasibility.feasible_hosts import (
    FeasibleHosts,
    all_of,
    check_hints,
    filters_of,
    first_masks,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.pauses import Pause, never
from gantt.scheduler.policy import Policy
from gantt.scheduler.scoring.scale import scales_of, total
from gantt.scheduler.selection.picking import Selected, pick_hosts
from gantt.scheduler.selection.select import Dice, spare_picks
from gantt.scheduler.stages import EXPLAIN, FILTER, Mark
from gantt.state.state import State

D = TypeVar("D")
T = TypeVar("T")


class Binder(Protocol):
    """Where a reserved claim is written."""

    def bind(self, claim: Claim, reserved: Claimed) -> None:
        """Write and confirm it. Raises ClaimLost, Forbidden, NoValidHost, Stale, and
        then nothing is written or reserved; Unavailable: its lease ends the claim."""

    def unreserve(self, claim: Claim, reserved: Claimed) -> None:
        """End the claim, and remove what was written for it."""


class TooFew(NoValidHost):
    """Fewer than the ``wanted`` instances found a host: ``found``."""

    def __init__(self, found: Selected, wanted: int) -> None:
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
        super().__init__(f"{text} {trouble}" if trouble else text)
        self.found = found


class Stale(Exception):
    """Candidates were taken since the source listed them. From now on the source is
    stale and leaves them out: as it lists fewer each time, this is no lost attempt."""

    def __init__(self, reason: GanttError | None) -> None:
        super().__init__(str(reason))
        self.reason = reason


def schedule(
    ask: Callable[[bool], CandidateSource],
    decide_on: Callable[[CandidateSource], tuple[D, Claim]],
    submit: Callable[[Claim], Claimed],
    binder: Binder,
    conclude: Callable[[D, Claimed, int], T],
    claim_attempts: int,
) -> T:
    """Find a host for every instance and claim it: all of the cycle.

    ``ask(again)``: the source to decide by; ``again``: list anew what it lists.
    ``decide_on``: ``decide`` on the newest State, and the claim. ``conclude``: the
    answer, from the decision, its claim and the number of tries. Raises NoValidHost,
    and what these raise."""
    tried = lost = 0
    is_again = False
    reason: GanttError | None = None
    while lost < claim_attempts:
        tried += 1
        source = ask(is_again)  # a remote Placement answers here, outside any lock
        is_again = False
        try:
            decided, claim = decide_on(source)  # prepare … select, all on one State
        except NoValidHost as refusal:
            if not source.is_stale:
                raise
            reason, is_again, lost = refusal, True, lost + 1
            continue
        try:
            reserved = submit(claim)  # reserve
            binder.bind(claim, reserved)  # bind, confirm
        except Stale as stale:
            reason = stale.reason
            continue
        except ClaimLost as error:
            reason, lost = error, lost + 1
            continue
        try:
            return conclude(decided, reserved, tried)
        except BaseException as error:
            binder.unreserve(claim, reserved)
            if not isinstance(error, ClaimLost):
                raise
            reason, lost = error, lost + 1
    raise NoValidHost(
        f"No valid host was found. In {tried} attempts concurrent claims were first; "
        f"last reason: {reason}"
    )


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
    held: Mapping[int, HeldHost] = MappingProxyType({}),
    mark: Mark | None = None,
) -> Selected:
    """A pick for every instance, or that there are too few hosts: pure. ``request`` is
    within its limits. Without ``rng`` the best where any of a few would do. ``pause``:
    wherever others may write meanwhile. ``held``: hosts that were advised to others, by
    row. ``mark``: is told of the stages. Raises NoValidHost (TooFew, once hosts were
    judged), Invalid, UnknownName, BudgetSpent, Moved."""
    options = driver.policy.options
    given = state, request, source, driver, now, Budget(budget)
    found = pick_hosts(*given, rng=rng, pause=pause, held=held, mark=mark)
    picks = found.picks
    if len(picks) < request.count:
        raise TooFew(found, request.count)
    if not request.return_alternates or len(picks) == 1:
        return found
    # Alternates: Nova builds on up to ``max_attempts`` hosts.
    spare = spare_picks(found.remaining, found.candidates, len(picks), options, rng)
    return replace(found, spare=spare)


def explained(
    refusal: NoValidHost, trials: Trials, mark: Mark | None = None
) -> NoValidHost:
    """The refusal of ``decide`` with what stopped the request and what would help.
    ``trials``: of that request, on the same State. Raises Moved."""
    if mark is not None:
        mark(EXPLAIN)
    if not isinstance(refusal, TooFew):
        return NoValidHost(refusal.message, why_at_once(trials))
    found = refusal.found
    # These have no candidate, else there would be another pick.
    left = found.remaining.left()
    ending = Ending(kept=left, refused=left, picked=len(found.picks))
    told = why(trials.state, found.feasible, ending, trials)
    return NoValidHost(refusal.message, told)


def evaluate(
    state: State,
    spec: RequestSpec,
    source: CandidateSource,
    policy: Policy,
    now: int,
    budget: Budget,
    mark: Mark | None = None,
) -> FeasibleHosts:
    """Every mask and score, computed anew. Raises Invalid, NoValidHost, UnknownName."""
    # prepare
    job = source.prepare(state, spec, policy.options)
    request = Request(job.spec, policy.options, now)
    check_hints(job, policy)
    # candidates
    candidates = source.candidates(state, job, policy.options, budget)
    # filter: those that check hosts one by one come last, and see only what is left
    if mark is not None:
        mark(FILTER)
    rows = state.fleet.hosts.live_rows().astype(np.int64)
    every = Hosts(state.fleet, rows)
    masks = list(first_masks(every, candidates, job.spec, policy.options))
    for one in sorted(filters_of(job, policy), key=lambda one: one.is_costly):
        if one.is_costly:
            passing = all_of(masks, len(rows))
            mask = np.ones(len(rows), np.bool_)
            mask[passing] = one.mask(every.keep(passing), request)
        else:
            mask = one.mask(every, request)
        masks.append(HostMask(one.name, mask))
    hosts = every.keep(all_of(masks, len(rows)))
    # score
    scales = scales_of(hosts, request, policy.weighers, mark)
    weights = total(scales, len(hosts))
    return FeasibleHosts(
        job, candidates, rows, tuple(masks), hosts, request, policy, scales, weights
    )
