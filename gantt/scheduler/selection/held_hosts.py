"""Hosts of which something is held, while a host is picked for a request.

A hold is no allocation: it changes neither columns nor masks. What is held lowers the
weight of its host, as the instance would. Where it was advised to others a moment ago,
a host that would be too full comes after all others, and is still picked where there is
no other; what the same demand placed before is firm, and leaves no more than the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from gantt.model.answers import Candidate
from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.evaluation.evaluation import Landed
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts, filters_of
from gantt.scheduler.feasibility.candidate_sources import HostCandidates
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.hosts import Taken
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.remaining_hosts import RemainingHosts
from gantt.scheduler.selection.topology_fit import Fitting
from gantt.state.state import State
from gantt.state.view import View


def hold(
    view: View,
    remaining: RemainingHosts,
    feasible: FeasibleHosts,
    held: Mapping[int, HeldHost],
    budget: Budget,
) -> bool:
    """Weigh the hosts of ``held`` (by row of ``state.hosts``) as if these instances
    were there; those without room beside what is firm are left out, and the rest of it
    is taken in ``view``: whether anything is. At least among the best that a claim has
    choices for, those without room for another come last."""
    most = feasible.policy.options.choices
    firm = {row for row in held if held[row].is_firm}
    for row in firm:
        _put(view, row, held[row])
    landed = remaining.hold(held)
    if landed is None:
        return bool(firm)
    full = _full(landed, feasible)
    remaining.leave_out(full & firm)
    checked = full | firm
    remaining.postpone(full - firm)
    while True:
        rows = remaining.hosts.rows
        best = rows[remaining.best(most)[:most]].tolist()
        unchecked = [row for row in best if row in held and row not in checked]
        if not unchecked:
            return bool(firm)
        checked.update(unchecked)
        remaining.postpone(
            {
                row
                for row in unchecked
                if _is_apart(feasible, held[row])
                or not _has_room(view.state, feasible, row, held[row], budget)
            }
        )


def hold_firm(
    firm: dict[int, HeldHost], taken: Taken, picks: Iterable[list[Pick]]
) -> None:
    """What a part of a demand takes is kept from its other parts; ``taken``: what each
    of it takes of its host."""
    for pick, *_ in picks:
        amounts = {
            (uuid, name): amount
            for uuid, resources in pick.candidate.allocations.items()
            for name, amount in resources.items()
        }
        known = firm.get(pick.row) or HeldHost(is_firm=True)
        # A copy: a record keeps what there was.
        held = firm[pick.row] = replace(known, amounts=dict(known.amounts))
        held.add(taken, amounts, None)


def _put(view: View, row: int, held: HeldHost) -> None:
    for (uuid, name), amount in held.amounts.items():
        view.add(view.slot(uuid, name), amount)
    for pending in held.pendings:
        view.promise(row, None, pending)


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
    _put(view, row, held)
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
