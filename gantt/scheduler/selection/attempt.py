"""One try to find a host for every instance of a request: nothing is changed by it.

Apart from the pipeline because a request is tried as it was made, and where there was
no host for it, with less of it, until something would have done.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import groups
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.feasible_hosts import Field
from gantt.scheduler.pauses import Pause, never, within
from gantt.scheduler.request.job import Job
from gantt.scheduler.selection.pick import Dice, Place, pick
from gantt.scheduler.selection.places import Places
from gantt.scheduler.selection.remaining import Round
from gantt.state.state import State


class Attempt(Struct, frozen=True, eq=False):
    """``picked``: per instance its places; fewer than were asked for when hosts ran
    out. ``round``, ``places``: what is left after the picks."""

    job: Job
    field: Field
    round: Round
    places: Places
    picked: list[list[Place]]


def attempt(
    state: State,
    request: ScheduleRequest,
    driver: Driver,
    *,
    now: int,
    by_books: bool,
    rng: Dice | None = None,
    budget: Budget,
    job: Job | None = None,
    is_trial: bool = False,
    pause: Pause = never,
) -> Attempt:
    """``job``: of this request, when it was made ready before. ``is_trial``: the driver
    need not remember it. ``pause``: before the first pick and between two. Raises what
    ``Driver.field`` and ``pick`` do, and Moved."""
    if job is not None:
        job = replace(job, spec=of_first(state, job.spec, request))
        field = driver.field_of(state, job, now=now, budget=budget)
    else:
        field_of = driver.field_once if is_trial else driver.field
        job, field = field_of(
            state,
            of_first(state, request.spec, request),
            now=now,
            by_books=by_books,
            budget=budget,
        )
    round_ = Round(field, job)
    places = Places(state, field, budget)
    picked = pick(
        round_,
        places,
        names(request),
        driver.policy.options,
        rng,
        has_alternates=request.return_alternates and not is_trial,
        is_trial=is_trial,
        pause=within(state, field, pause),
    )
    return Attempt(job, field, round_, places, picked)


def names(request: ScheduleRequest) -> tuple[str, ...]:
    """The names of the instances; "" for each where the request gives none."""
    if request.instance_uuids is not None:
        return request.instance_uuids
    return ("",) * request.count


def of_first(state: State, spec: RequestSpec, request: ScheduleRequest) -> RequestSpec:
    """As the first instance is asked for: a spec for many bears the name of any; its
    group with its rule."""
    spec = groups.with_rule(state.fleet, spec)
    uuids = request.instance_uuids
    if not uuids or spec.instance_uuid == uuids[0]:
        return spec
    return replace(spec, instance_uuid=uuids[0])
