"""The smallest single thing to give up for an answer, confirmed by the search itself.

Small is, in this order: an amount lowered, by as small a share of it as will do; then
one constraint left out altogether, by kind as in ``DROPPED`` and within a kind in the
order of the request. Which amounts to try is told by what providers have free
(``rooms``).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from msgspec import structs

from gantt.errors import UnknownName
from gantt.model.diagnosis import Kind, Relaxation
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates import rooms
from gantt.placement.candidates import terms as t
from gantt.placement.candidates.combination import Budget, Spent
from gantt.placement.candidates.joins import Link, links, without_link
from gantt.placement.candidates.rooms import Rooms
from gantt.placement.candidates.search import has_candidate
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.placement.pause import Pause, never
from gantt.state.state import State

# What is left out sooner: how providers stand to one another, what they must not and
# must be, where they are, and last what they give.
DROPPED: tuple[Kind, ...] = (
    "isolate",
    "same_subtree",
    "nested",
    "forbidden",
    "root_forbidden",
    "required",
    "root_required",
    "not_member_of",
    "member_of",
    "in_tree",
    "amount",
)
# One step of a walk costs about as much as an array pass over so many providers.
ROWS_PER_STEP = 1024


def smallest(
    state: State,
    request: CandidateRequest,
    budget: Budget,
    *,
    searches: int,
    pause: Pause = never,
) -> tuple[Relaxation | None, bool]:
    """What to give up for an answer, None when no single thing helps; and whether
    ``searches`` or the budget ended the quest before that was sure. ``pause``: before
    each search."""
    trials = _Trials(state, request, budget, searches, pause)
    try:
        _lower_amounts(trials)
        if trials.best is None:
            whole = (one for one in dropped(request) if trials.helps(one))
            trials.best = next(whole, None)
    except Spent:
        return trials.best, True
    return trials.best, False


def relaxed(request: CandidateRequest, relaxation: Relaxation) -> CandidateRequest:
    """``request`` with that one thing given up; a group that asks for no resources any
    more goes altogether."""
    names = frozenset(relaxation.names)
    if relaxation.suffix is None:
        if relaxation.kind in ("root_required", "root_forbidden"):
            left = _without_label(request.root_traits, relaxation.kind, names)
            return structs.replace(request, root_traits=left)
        return without_link(request, Link(relaxation.kind, relaxation.names))
    groups = []
    for group in request.groups:
        if group.suffix == relaxation.suffix:
            group = _without(group, relaxation, names)
        groups.append(group)
    lost = frozenset(
        group.suffix
        for group in groups
        if relaxation.kind == "amount"
        and group.suffix == relaxation.suffix
        and not group.resources
    )
    subtrees = (subtree - lost for subtree in request.same_subtrees)
    return structs.replace(
        request,
        groups=tuple(group for group in groups if group.suffix not in lost),
        same_subtrees=tuple(subtree for subtree in subtrees if subtree),
    )


def dropped(request: CandidateRequest) -> list[Relaxation]:
    """Every single constraint that can be left out, the smallest first."""
    found = [Relaxation(link.kind, None, link.names) for link in links(request)]
    found += _labels(request.root_traits, None, ("root_required", "root_forbidden"))
    for group in request.groups:
        suffix = group.suffix
        found += _labels(group.traits, suffix, ("required", "forbidden"))
        found += _labels(group.member_of, suffix, ("member_of", "not_member_of"))
        if group.in_tree is not None:
            found.append(Relaxation("in_tree", suffix, (group.in_tree,)))
        found += [
            Relaxation("amount", suffix, (name,), amount)
            for name, amount in group.resources.items()
        ]
    return sorted(found, key=lambda relaxation: DROPPED.index(relaxation.kind))


class _Trials:
    """Searches for relaxed requests, each at most once, as many as are allowed."""

    def __init__(
        self,
        state: State,
        request: CandidateRequest,
        budget: Budget,
        searches: int,
        pause: Pause,
    ) -> None:
        self._pause = pause
        self.state, self.request = state, request
        self.best: Relaxation | None = None
        self._budget, self._left = budget, searches
        passes = 1 + sum(
            len(group.resources) + len(group.traits.required) + 1
            for group in request.groups
        )
        self._steps = passes * state.providers.height // ROWS_PER_STEP
        self._known: dict[Relaxation, bool] = {}

    def helps(self, relaxation: Relaxation) -> bool:
        """Whether the search answers something then. Raises Spent."""
        known = self._known.get(relaxation)
        if known is None:
            known = self._known[relaxation] = self._search(relaxation)
        return known

    def _search(self, relaxation: Relaxation) -> bool:
        request = relaxed(self.request, relaxation)
        if not request.groups:
            return False
        if self._left <= 0:
            raise Spent
        self._left -= 1
        self._pause()
        self._budget.steps += self._steps
        self._budget.spend()
        try:
            return has_candidate(self.state, request, self._budget)
        except UnknownName:
            return False


def _lower_amounts(trials: _Trials) -> None:
    """Make the least lowering of an amount that helps the best of ``trials``."""
    sharing = SharingProviders(trials.state)
    in_subtrees = frozenset().union(*trials.request.same_subtrees)
    best_share = 1.0
    for group in trials.request.groups:
        for number, (name, amount) in enumerate(group.resources.items()):
            drop = Relaxation("amount", group.suffix, (name,), amount)
            # Asking for nothing is weaker than asking for less, unless it takes a
            # provider out of its subtree, or leaves no request.
            is_telling = len(group.resources) > 1 or not (
                group.suffix in in_subtrees or len(trials.request.groups) == 1
            )
            if amount < 2 or (is_telling and not trials.helps(drop)):
                continue
            found = _lowered(trials, group, number, sharing, best_share)
            if found is not None:
                best_share = (amount - found) / amount


def _lowered(
    trials: _Trials,
    group: RequestGroup,
    number: int,
    sharing: SharingProviders,
    best_share: float,
) -> int | None:
    """The largest amount that helps, if that is better than ``best_share``; the best of
    ``trials`` then."""
    terms = t.group_terms(trials.state, group, sharing)
    term = terms.terms[number]
    assert term.amount is not None, "amounts are the first terms of a group"
    amount, name = term.amount, term.names[0]
    drop = Relaxation("amount", group.suffix, term.names, amount)
    room = _room(trials.state, terms, number)
    if room is None:
        return None
    others = [
        other.resources[name]
        for other in trials.request.groups
        if other.suffix != group.suffix and name in other.resources
    ]
    # What is left of it must be a larger share than of any amount before.
    floor = int(amount * (1 - best_share))
    while (amount - floor - 1) / amount >= best_share:
        floor += 1

    def helps(lowered: int) -> bool:
        return trials.helps(structs.replace(drop, lowered=lowered))

    def found(lowered: int) -> None:
        trials.best = structs.replace(drop, lowered=lowered)

    top = amount - 1
    offsets = rooms.sums(others, 1)
    below = partial(room.below, start=top, times=1, offsets=offsets)
    best = rooms.largest(below, top, floor, helps, found)
    return best if best > floor else None


def _room(state: State, terms: t.GroupTerms, number: int) -> Rooms | None:
    """What providers that meet all else have left of a class; None: there are none."""
    term = terms.terms[number]
    table = (
        None if term.class_index is None else state.inventories.table(term.class_index)
    )
    if table is None:
        return None
    # What one provider gives of a spread group is none of the other amounts' business.
    others = [
        place
        for place, other in enumerate(terms.terms)
        if place != number and not (terms.is_spread and other.kind == "amount")
    ]
    able = t.served(terms, others).providers
    if terms.is_spread:
        rest = [place for place in range(len(terms.terms)) if place != number]
        home = state.providers.root[: state.providers.height]
        able &= t.served(terms, rest).trees[home] | terms.sharing.mask
    slots = np.flatnonzero(table.is_live[: table.height])
    slots = slots[able[table.provider[slots]]]
    return rooms.of_table(table, slots) if len(slots) else None


def _without(
    group: RequestGroup, relaxation: Relaxation, names: frozenset[str]
) -> RequestGroup:
    if relaxation.kind == "amount":
        resources = dict(group.resources)
        if relaxation.lowered is None:
            del resources[relaxation.names[0]]
        else:
            resources[relaxation.names[0]] = relaxation.lowered
        return structs.replace(group, resources=resources)
    if relaxation.kind == "in_tree":
        return structs.replace(group, in_tree=None)
    if relaxation.kind in ("required", "forbidden"):
        left = _without_label(group.traits, relaxation.kind, names)
        return structs.replace(group, traits=left)
    left = _without_label(group.member_of, relaxation.kind, names)
    return structs.replace(group, member_of=left)


def _without_label(labels: Labels, kind: Kind, names: frozenset[str]) -> Labels:
    if kind in ("forbidden", "root_forbidden", "not_member_of"):
        return structs.replace(labels, forbidden=labels.forbidden - names)
    required = list(labels.required)
    required.remove(names)
    return structs.replace(labels, required=tuple(required))


def _labels(
    labels: Labels, suffix: str | None, kinds: tuple[Kind, Kind]
) -> list[Relaxation]:
    found = [
        Relaxation(kinds[0], suffix, tuple(sorted(names))) for names in labels.required
    ]
    return found + [
        Relaxation(kinds[1], suffix, (name,)) for name in sorted(labels.forbidden)
    ]
