"""Hosts that were advised to others a moment ago, while a host is picked for a request.

A hold is no allocation: it changes neither columns nor masks. What is held lowers the
weight of its host, as the instance would; a host that would be too full comes after all
others, and is still picked where there is no other.
"""

from __future__ import annotations

from collections.abc import Mapping

from gantt.model.answers import Candidate
from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.evaluation.evaluation import Landed
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, filters_of
from gantt.scheduler.feasibility.candidate_sources import HostCandidates
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.topology_fit import Fitting
from gantt.state.state import State
from gantt.state.view import View


def hold(
    state: State,
    remaining: RemainingHosts,
    feasible: FeasibleHosts,
    held: Mapping[int, HeldHost],
    most: int,
    budget: Budget,
) -> None:
    """Weigh the hosts of ``held`` (by row of ``state.hosts``) as if these instances
    were there. At least among the best ``most``, those without room for another come
    last."""
    landed = remaining.hold(held)
    if landed is None:
        return
    rows, checked = remaining.hosts.rows, _full(landed, feasible)
    remaining.postpone(checked)
    while True:
        best = rows[remaining.best(most)[:most]].tolist()
        unchecked = [row for row in best if row in held and row not in checked]
        if not unchecked:
            return
        checked.update(unchecked)
        remaining.postpone(
            {
                row
                for row in unchecked
                if _is_apart(feasible, held[row])
                or not _has_room(state, feasible, row, held[row], budget)
            }
        )


def _full(landed: Landed, feasible: FeasibleHosts) -> set[int]:
    """Rows of hosts that filters and reports would refuse."""
    asked = [
        one
        for one in filters_of(feasible.job, feasible.policy)
        if one.is_elementwise and not one.is_costly
    ]
    passing = landed.passing(asked)[landed.at]
    fits = feasible.candidates.still_fits(landed.changed)
    if fits is not None:
        passing &= fits
    return set(landed.changed.rows[~passing].tolist())


def _is_apart(feasible: FeasibleHosts, held: HeldHost) -> bool:
    group = feasible.job.spec.instance_group
    return group is not None and group.uuid in held.groups


def _has_room(
    state: State, feasible: FeasibleHosts, row: int, held: HeldHost, budget: Budget
) -> bool:
    """Whether the first candidate that the host has beside what is held fits."""
    candidates, wanted, view = feasible.candidates, feasible.wanted, View(state)
    for (uuid, name), amount in held.amounts.items():
        view.add(view.slot(uuid, name), amount)
    for pending in held.pendings:
        view.promise(row, None, pending)
    try:
        candidate = first_candidate(candidates, row, budget, view)
    except Spent:
        return True
    if candidate is None:
        return False
    if wanted is not None:
        fitting = Fitting(view, wanted, feasible.policy.options)
        if not fitting.fits(row, candidate):
            return False
    return all(
        candidates.has_room(view, uuid, name, amount)
        for uuid, resources in candidate.allocations.items()
        for name, amount in resources.items()
    )


def first_candidate(
    candidates: HostCandidates, row: int, budget: Budget, view: View | None = None
) -> Candidate | None:
    """The candidate that would be claimed, less those that need what is taken in
    ``view``; None: the host has none. Raises Spent."""
    known = candidates.certain([row])
    if known is not None:
        return known[0]
    return next(iter(candidates.of(row, budget, view)), None)
