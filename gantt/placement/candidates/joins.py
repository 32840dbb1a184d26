"""Constraints between groups, by trying them out tree by tree.

Whether groups fit together no mask can tell, so this walks trees, and only so many:
what it counts is exact for the trees that it has walked. A constraint is judged like
any other: what passes with it alone, and what would pass without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct, structs

from gantt.model.diagnosis import Constraint, Count, Kind
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.combination import Budget, Spent, combine
from gantt.placement.candidates.search import resolve
from gantt.placement.candidates.tree import SearchShape, shape_of
from gantt.placement.pause import Pause, never
from gantt.state.state import State

Keep = frozenset[int]


class Link(Struct, frozen=True):
    kind: Kind
    names: tuple[str, ...] = ()


class Joins(Struct, frozen=True):
    """What came of the walk. ``walked``: rows of roots; ``culprits``: per root in which
    not all fits, what alone is to blame ("together" where nothing else is)."""

    constraints: tuple[Constraint, ...]
    walked: tuple[int, ...]
    culprits: dict[int, Link]


def links(request: CandidateRequest) -> tuple[Link, ...]:
    """The constraints between groups that can be given up."""
    found = []
    if not request.nested:
        found.append(Link("nested"))
    if request.isolate and sum(bool(group.suffix) for group in request.groups) > 1:
        found.append(Link("isolate"))
    found += [Link("same_subtree", tuple(sorted(s))) for s in request.same_subtrees]
    return tuple(found)


def without_link(request: CandidateRequest, link: Link) -> CandidateRequest:
    """``request`` without one constraint between its groups."""
    if link.kind == "nested":
        return structs.replace(request, nested=True)
    if link.kind == "isolate":
        return structs.replace(request, isolate=False)
    subtrees = list(request.same_subtrees)
    subtrees.remove(frozenset(link.names))
    return structs.replace(request, same_subtrees=tuple(subtrees))


def join(
    state: State,
    request: CandidateRequest,
    roots: Iterable[int],
    budget: Budget,
    *,
    walks: int,
    pause: Pause = never,
) -> Joins:
    """Try what joins the groups on the first of ``roots``, ``walks`` times at most.
    ``pause``: between roots."""
    trials = _Trials(state, request, budget)
    walked: list[int] = []
    fits: dict[Keep, set[int]] = {keep: set() for keep in trials.all}
    for root in roots:
        pause()
        if (len(walked) + 1) * len(trials.all) > max(walks, len(trials.all)):
            break
        try:
            fitting = [keep for keep in trials.all if trials.fits(keep, root)]
        except Spent:
            break
        walked.append(root)
        for keep in fitting:
            fits[keep].add(root)
    return Joins(
        _counted(trials.links, fits, walked),
        tuple(walked),
        _culprits(trials.links, fits, walked),
    )


class _Trials:
    """The request with any of its links left out, ready for single trees."""

    def __init__(self, state: State, request: CandidateRequest, budget: Budget) -> None:
        self._state, self._request, self._budget = state, request, budget
        self.links = links(request)
        numbers = range(len(self.links))
        whole = frozenset(numbers)
        self.all: list[Keep] = list(
            dict.fromkeys(
                [
                    whole,
                    frozenset(),
                    *(frozenset((number,)) for number in numbers),
                    *(whole - {number} for number in numbers),
                ]
            )
        )
        self._shapes: dict[Keep, SearchShape | None] = {}

    def fits(self, keep: Keep, root: int) -> bool:
        """Whether the tree of ``root`` has an answer when only ``keep`` hold. Raises
        Spent."""
        if keep not in self._shapes:
            self._shapes[keep] = self._shape(keep)
        shape = self._shapes[keep]
        return (
            shape is not None
            and next(combine(shape, root, self._budget), None) is not None
        )

    def _shape(self, keep: Keep) -> SearchShape | None:
        request = self._request
        for number, link in enumerate(self.links):
            if number not in keep:
                request = without_link(request, link)
        resolved = resolve(self._state, request, self._budget)
        return None if resolved is None else shape_of(resolved, are_alike=True)


def _counted(
    asked: tuple[Link, ...], fits: dict[Keep, set[int]], walked: Collection[int]
) -> tuple[Constraint, ...]:
    whole, bare = frozenset(range(len(asked))), fits[frozenset()]
    found = [
        Constraint("together", (), _count(len(bare)), _count(len(walked) - len(bare)))
    ]
    for number, link in enumerate(asked):
        alone = fits[whole - {number}] - fits[whole]
        passed = fits[frozenset((number,))]
        found.append(
            Constraint(link.kind, link.names, _count(len(passed)), _count(len(alone)))
        )
    return tuple(found)


def _culprits(
    asked: tuple[Link, ...], fits: dict[Keep, set[int]], walked: Iterable[int]
) -> dict[int, Link]:
    whole = frozenset(range(len(asked)))
    found = {}
    for root in walked:
        if root not in fits[whole]:
            found[root] = next(
                (
                    link
                    for number, link in enumerate(asked)
                    if root in fits[whole - {number}]
                ),
                Link("together"),
            )
    return found


def _count(trees: int) -> Count:
    return Count(None, trees)
