"""A request for instances, to hosts and to the claim that holds them, on one page.

    pre-filters, shape                 job
    -> which pass, how good each is    driver -> field
    -> a host per instance, each pick seen by the next          pick
    -> one claim for all, with places to fall back on           claim_of
    -> selections with alternates                               tell

Pure: the engine hands in the time and the randomness, submits the claim, and comes back
for new picks when every place of an instance was lost.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from gantt.errors import BudgetSpent, NoValidHost
from gantt.model.answers import Claimed
from gantt.model.commands import Choice, Claim, InstanceClaim
from gantt.model.scheduling import Selections
from gantt.model.spec import InstanceGroup, ScheduleRequest
from gantt.placement import groups
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.explain.why import Rest, why, why_at_once
from gantt.scheduler.feasibility.feasible_hosts import Field
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.pauses import Pause, never
from gantt.scheduler.request.job import Job
from gantt.scheduler.request.limits import check_count
from gantt.scheduler.selection.answer import selections
from gantt.scheduler.selection.attempt import attempt, names
from gantt.scheduler.selection.pick import (
    Dice,
    Place,
    best_places,
    choices_per_instance,
)
from gantt.state.state import State

_GROUP_FILTERS = {
    groups.AFFINITY: "ServerGroupAffinityFilter",
    groups.ANTI_AFFINITY: "ServerGroupAntiAffinityFilter",
}


class Picks(Struct, frozen=True, eq=False):
    """``places``: per instance, in the order of trial, the first of them for the claim
    (``choices_per_instance``), all for alternates; ``spare``: for alternates of many.
    """

    job: Job
    field: Field
    places: list[list[Place]]
    spare: list[Place]
    options: SchedulerOptions


def choose(
    state: State,
    request: ScheduleRequest,
    driver: Driver,
    *,
    now: int,
    by_books: bool,
    rng: Dice | None = None,
    budget: int | None = None,
    job: Job | None = None,
    pause: Pause = never,
) -> Picks:
    """A place for every instance; without ``rng`` the best where any of a few would do.
    ``job``: of this request, when it was made ready before. ``pause``: wherever
    others may write meanwhile. Raises NoValidHost (with ``why``), Invalid, UnknownName,
    BudgetSpent, Moved."""
    check_count(request, driver.policy.options)
    trials = Trials(
        state,
        request,
        driver,
        now=now,
        by_books=by_books,
        search_budget=budget,
        job=job,
        pause=pause,
    )
    try:
        found = attempt(
            state,
            request,
            driver,
            now=now,
            by_books=by_books,
            rng=rng,
            budget=Budget(budget),
            job=job,
            pause=pause,
        )
    except NoValidHost as refusal:
        raise NoValidHost(refusal.message, why_at_once(trials)) from None
    job, field, picked = found.job, found.field, found.picked
    options = driver.policy.options
    if len(picked) < request.count:
        text = _too_few(len(picked), request.count, len(field.all_rows))
        if job.listing is not None and job.listing.trouble:
            text = f"{text} {job.listing.trouble}"
        # Hosts that are left were asked and refused, else there would be another pick.
        left = found.round.left()
        rest = Rest(left, left, len(picked))
        raise NoValidHost(text, why(state, job, field, rest, trials))
    spare: list[Place] = []
    if request.return_alternates and len(picked) > 1:
        wanted = len(picked) + options.max_attempts
        # Every instance has its place: a lack of alternates refuses none.
        with suppress(BudgetSpent):
            spare = [
                place
                for _, place in best_places(
                    found.round, found.places, wanted, options, rng
                )
            ]
    return Picks(job, field, picked, spare, options)


def claim_of(request: ScheduleRequest, picks: Picks, claim: str) -> Claim:
    """The command that holds every place, or none."""
    spec, options = picks.job.spec, picks.options
    lease = request.lease_s
    asked = picks.field.asked
    most = choices_per_instance(options, len(picks.places))
    return Claim(
        claim,
        tuple(
            InstanceClaim(
                uuid,
                tuple(
                    Choice(place.host_id, place.candidate.allocations)
                    for place in places[:most]
                ),
            )
            for uuid, places in zip(names(request), picks.places, strict=True)
        ),
        *picks.job.taken,
        spec.project_id or request.project_id or "",
        spec.user_id or request.user_id or "",
        _enforced(spec.instance_group, asked),
        (
            options.initial_cpu_allocation_ratio,
            options.initial_ram_allocation_ratio,
            options.initial_disk_allocation_ratio,
        ),
        None if lease is None else int(lease * 1_000_000),
        asks_service="ComputeFilter" in asked,
        only_project=request.only_project,
    )


def _enforced(
    group: InstanceGroup | None, asked: frozenset[str]
) -> InstanceGroup | None:
    """The group with the rule that the committer is to hold: the one that was held
    while hosts were picked, and none where its filter is not enabled or hosts are
    forced."""
    if group is None or group.policy is None:
        return group
    needed = _GROUP_FILTERS.get(group.policy)
    return replace(group, policy=None) if needed and needed not in asked else group


def tell(
    state: State,
    request: ScheduleRequest,
    picks: Picks,
    now: int,
    claimed: Claimed | None = None,
) -> Selections:
    """What the caller hears. Raises ClaimLost when a claimed host is gone."""
    return selections(
        state, request, picks.field, picks.places, picks.spare, now, claimed
    )


def _too_few(found: int, wanted: int, known: int) -> str:
    if not known:
        return (
            "No valid host was found. No host has reported yet: send what they have "
            "with update_resource_stats."
        )
    if found or wanted > 1:
        return (
            "No valid host was found. There are not enough hosts available: "
            f"{wanted} instances were asked for, {found} have a place."
        )
    return "No valid host was found."
