"""The cycle restricted to the hosts that a caller sent, up to their order.

Nothing is claimed. The driver answers for all hosts, from its cache where it can; the
masks and scores of those that were sent are taken from that, and the scores normalised
among them, as Nova does with the hosts that it weighs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gantt.model.advice import AdviceRequest
from gantt.model.answers import Candidate
from gantt.model.names import canonical
from gantt.model.spec import RequestSpec
from gantt.placement import group_rules
from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, all_of
from gantt.scheduler.feasibility.candidate_sources import (
    BOOKS,
    CandidateSource,
    HostMask,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import AdviceOptions
from gantt.scheduler.relations.domain_picks import restricted
from gantt.scheduler.request.segments import as_far_as_known
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.scoring.scale import total
from gantt.scheduler.selection.held_hosts import first_candidate, hold
from gantt.scheduler.selection.host_choice import Pick, RandomSource, seed_of
from gantt.scheduler.selection.remaining_candidates import RemainingCandidates
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.topology_fit import Fitting, fitting_of
from gantt.state.column import NO_ROW, NO_TIME, Bools, Floats, Int64s
from gantt.state.host_table import HostNames
from gantt.state.state import State
from gantt.state.view import View

NONE: Final = -1
"""Not refused."""
_CHECKS = {"rebuild", "resize", "live_migrate"}


class Ranked(Struct, frozen=True, eq=False):
    """``order``: int64[n] positions in ``request.hosts``, the best first; the last
    ones, beyond ``weights`` (float64[k]), are refused or unknown. ``causes``:
    int64[n - k], for each of these the number in ``masks`` of the first one that
    refuses it; NONE: none is known to. ``rows``: int64[n] in ``state.hosts``, NO_ROW
    for unknown ones; ``names``: of the hosts at these rows. ``best``: the host that
    the advice puts first; None: none passes."""

    feasible: FeasibleHosts
    order: Int64s
    weights: Floats
    causes: Int64s
    masks: tuple[str, ...]
    rows: Int64s
    names: HostNames
    best: Pick | None

    @property
    def refusals(self) -> list[str | None]:
        """``causes`` by name."""
        names = (*self.masks, None)  # NONE is the last
        return [names[number] for number in self.causes.tolist()]


def spec_of(request: AdviceRequest) -> RequestSpec:
    """The request's spec for its instance and operation. The caller's own pre-filters
    came before."""
    spec, kind = as_far_as_known(request.spec), request.operation
    named = request.instance_uuid
    uuid = canonical(named) if named else spec.instance_uuid
    hints = spec.scheduler_hints
    if kind in _CHECKS and "_nova_check_type" not in hints:
        hints = {**hints, "_nova_check_type": (str(kind),)}
    return replace(spec, instance_uuid=uuid, scheduler_hints=hints, num_instances=1)


def is_evacuation(request: AdviceRequest) -> bool:
    """Whether many such requests may come at once, as when hosts die."""
    hint = request.spec.scheduler_hints.get("_nova_check_type")
    return (request.operation or (hint or ("",))[0]) == "evacuate"


def rank(
    state: State,
    request: AdviceRequest,
    spec: RequestSpec,
    source: CandidateSource,
    driver: Driver,
    options: AdviceOptions,
    held: Mapping[int, HeldHost],
    *,
    now: int,
    rng: RandomSource,
    budget: int | None,
    is_current: bool = True,
) -> Ranked:
    """The order of ``request.hosts``. ``spec``: that of ``spec_of``, checked.
    ``is_current``: whether ``state`` has what was committed of late. Raises
    NoValidHost, Invalid, UnknownName."""
    spec = group_rules.with_rule(state.fleet, spec)
    steps = Budget(budget)
    every = driver.feasible_hosts(state, spec, source, now=now, budget=steps)
    every = restricted(state, every)
    given = _weights(request)
    sent = state.fleet.hosts.rows_at(request.names, [one.node for one in request.hosts])
    at = np.flatnonzero(sent != NO_ROW)  # positions of known hosts
    if (given[1:] > given[:-1]).any():  # else they are in this order already
        at = at[host_weights.best(given[at], len(at))]
    feasible, passing = _restricted(every, sent[at])
    remaining = RemainingHosts(feasible)
    if held:
        hold(View(state), remaining, feasible, held, steps)
    mine, weights = at[passing], remaining.weights
    if options.advice_weights == "add":
        weights = weights + _normalised(given[mine])
    subset = _subset_size(request, options)
    if driver.chooser is not None:
        chooser, seed = driver.chooser, seed_of(rng)
        chosen = chooser.choose(feasible, remaining.hosts, weights, 1, seed)
        if chosen is not None:
            feasible = feasible.only(chosen.places, chooser.mask_name)
            mine, subset = mine[chosen.places], 1
            # For callers that sort by weight.
            weights = np.arange(len(mine), 0.0, -1.0)
    view = View(state)
    fitting = fitting_of(state, feasible, driver, view)
    places, best, lost = _choose(view, feasible, weights, subset, rng, steps, fitting)
    names = (*(one.name for one in feasible.masks), BOOKS)
    causes = np.full(len(sent), NONE, np.int64)
    causes[at] = _causes(feasible, len(at))
    causes[mine[list(lost)]] = [names.index(name) for name in lost.values()]
    if request.mode == "decide":
        fresh_s = driver.policy.options.report_age_s if is_current else None
        _keep_sure(state, causes, sent, now, fresh_s)
    order = _first(mine[places], len(sent))
    return Ranked(
        feasible,
        order,
        weights[places],
        causes[order[len(places) :]],
        names,
        sent[order],
        state.fleet.hosts.names(),
        best,
    )


def _first(positions: Int64s, size: int) -> Int64s:
    """int64[size]: these, then all others."""
    is_other = np.ones(size, np.bool_)
    is_other[positions] = False
    return np.concatenate((positions, np.flatnonzero(is_other)))


def _weights(request: AdviceRequest) -> Floats:
    """float64[n]: the caller's weights."""
    weights = request.weights
    if request.is_aligned:
        return np.fromiter(weights.values(), np.float64, len(weights))
    least = min(weights.values(), default=0.0)
    found = [weights.get(name, least) for name in request.names]
    return np.array(found, np.float64)


def _subset_size(request: AdviceRequest, options: AdviceOptions) -> int:
    """From how many of the best hosts the first is drawn: from one where no caller
    follows it, so that several cannot choose the same."""
    if request.mode == "observe":
        return 1
    subset = options.advice_subset_size
    if is_evacuation(request):
        subset = max(subset, options.advice_evacuate_subset_size)
    return subset


def _normalised(weights: Floats) -> Floats:
    """float64[n] from 0 to 1."""
    found = host_weights.normalise(weights, host_weights.ends(weights, None, None))
    return np.zeros(len(weights)) if found is None else found


def _restricted(every: FeasibleHosts, rows: Int64s) -> tuple[FeasibleHosts, Bools]:
    """``every`` for the hosts at ``rows``, in this order; bool[n]: which pass."""
    table = every.hosts.fleet.hosts
    place_of = np.full(table.height, NO_ROW, np.int64)
    place_of[every.all_rows] = np.arange(len(every.all_rows))
    places = place_of[rows]
    masks = tuple(HostMask(one.name, one.mask[places]) for one in every.masks)
    passing = all_of(masks, len(rows))
    place_of[every.hosts.rows] = np.arange(len(every.hosts))
    mine = place_of[rows[passing]]
    hosts = every.hosts.at(mine)
    scales = () if len(mine) < 2 else tuple(one.at(mine) for one in every.scales)
    return (
        FeasibleHosts(
            every.job,
            every.candidates,
            rows,
            masks,
            hosts,
            every.request,
            every.policy,
            scales,
            total(scales, len(mine)),
        ),
        passing,
    )


def _choose(
    view: View,
    feasible: FeasibleHosts,
    weights: Floats,
    subset: int,
    rng: RandomSource,
    budget: Budget,
    fitting: Fitting | None,
) -> tuple[Int64s, Pick | None, dict[int, str]]:
    """Places of passing hosts, the best first; the pick at the first, which is drawn
    from ``subset``; and places among the best where the exact search finds nothing, or
    the instance does not fit: the mask that would say so. That runs for as many as a
    claim would have choices, within ``budget``."""
    order = host_weights.best(weights, len(weights))
    rows, candidates = feasible.hosts.rows, feasible.candidates
    left = RemainingCandidates(view, candidates, budget, fitting)
    picks: list[tuple[int, Candidate]] = []
    lost: dict[int, str] = {}
    with suppress(Spent):
        for place in order[: feasible.policy.options.choices].tolist():
            row = int(rows[place])
            listed = first_candidate(candidates, row, budget)
            found = None if listed is None else left.fitting_one(row, listed)
            if found is not None:
                picks.append((place, found))
            elif listed is None or fitting is None:
                lost[place] = BOOKS
            else:
                lost[place] = fitting.filter_name
            if candidates.is_per_host and len(picks) >= max(1, subset):
                break
    if lost:
        order = order[~np.isin(order, list(lost))]
    if not picks:
        return order, None, lost
    drawn = rng.randrange(min(subset, len(picks))) if subset > 1 else 0
    first, candidate = picks[drawn]
    if drawn:
        order = np.concatenate(([first], order[order != first]))
    host_id = int(feasible.hosts.fleet.hosts.id[rows[first]])
    return order, Pick(int(rows[first]), host_id, candidate), lost


def _causes(feasible: FeasibleHosts, size: int) -> Int64s:
    """int64[size]: for each host the number of the first mask that refuses it, or
    NONE."""
    found = np.full(size, NONE, np.int64)
    if len(feasible.hosts) < size:
        # Backwards, so that the first mask to refuse a host is what remains.
        for number in reversed(range(len(feasible.masks))):
            found[~feasible.masks[number].mask] = number
    return found


def _keep_sure(
    state: State, causes: Int64s, sent: Int64s, now: int, fresh_s: float | None
) -> None:
    """Withdraw refusals of hosts whose last report is old, or all (``fresh_s`` None):
    the caller would drop these hosts."""
    if fresh_s is None:
        causes[:] = NONE
        return
    hosts = state.fleet.hosts
    positions = np.flatnonzero(causes != NONE)
    rows = sent[positions]
    at = np.maximum(hosts.updated_at[rows], hosts.created_at[rows])
    is_old = (at == NO_TIME) | (now - at > 2 * fresh_s * 1_000_000)
    causes[positions[is_old]] = NONE
