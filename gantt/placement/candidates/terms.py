"""What each single constraint of a request lets through, as masks.

The search winnows and forgets why; here every constraint keeps a mask of its own, so
that any of them can be left out and the rest joined anew. ``served`` joins them exactly
as ``feasible`` does, which a test holds it to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np
from msgspec import Struct

from gantt.model.diagnosis import Kind
from gantt.model.names import MAX_INT
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates.provider_masks import Need, covered
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.placement.queries import with_room
from gantt.state.bits import BitMatrix
from gantt.state.column import Bools
from gantt.state.state import State


class Term(Struct, frozen=True, eq=False):
    """One constraint; ``mask``: bool[providers], which meet it by themselves."""

    kind: Kind
    names: tuple[str, ...]
    mask: Bools
    amount: int | None = None
    class_index: int | None = None
    unknown: tuple[str, ...] = ()


class GroupTerms(Struct, frozen=True, eq=False):
    state: State
    sharing: SharingProviders
    group: RequestGroup
    terms: tuple[Term, ...]

    @property
    def is_spread(self) -> bool:
        """Whether several providers may give what the group wants."""
        return not self.group.suffix and bool(self.group.resources)


class Served(Struct, frozen=True, eq=False):
    """Two bool[providers]: which can give the group something, and the roots of trees
    in or around which the group can be met by itself."""

    providers: Bools
    trees: Bools


class SpreadTerms(Struct, frozen=True, eq=False):
    """What is asked of all givers of a spread group, as bool[providers].

    ``own``: which may give to their tree; ``shared``: to trees that they share with;
    ``anchors``: roots that may take from a sharing provider; ``joint``: per required
    set of traits which bear one, which the givers must satisfy together.
    """

    own: Bools
    shared: Bools
    anchors: Bools
    joint: tuple[Bools, ...]


def group_terms(
    state: State, group: RequestGroup, sharing: SharingProviders
) -> GroupTerms:
    """The constraints of ``group``. A name that is unknown is no error here: no
    provider bears it."""
    found = [_amount(state, *asked) for asked in group.resources.items()]
    found += _labels(
        state.provider_traits,
        state.traits.index_of,
        group.traits,
        ("required", "forbidden"),
        state.providers.height,
    )
    found += _labels(
        state.provider_aggregates,
        state.aggregates.index_of,
        group.member_of,
        ("member_of", "not_member_of"),
        state.providers.height,
    )
    # As the search: where nothing is asked for, in_tree is ignored.
    if group.in_tree is not None and group.resources:
        found.append(_in_tree(state, group.in_tree))
    if not (group.resources or group.traits.required or group.member_of.required):
        none = np.zeros(state.providers.height, np.bool_)
        found.append(Term("nothing", (), none))
    return GroupTerms(state, sharing, group, tuple(found))


def root_terms(state: State, request: CandidateRequest) -> tuple[Term, ...]:
    return tuple(
        _labels(
            state.provider_traits,
            state.traits.index_of,
            request.root_traits,
            ("root_required", "root_forbidden"),
            state.providers.height,
        )
    )


def live_roots(state: State) -> Bools:
    """bool[providers]: one for each tree."""
    height = state.providers.height
    found = state.providers.is_live[:height].copy()
    found &= state.providers.root[:height] == np.arange(height)
    return found


def passed(terms: GroupTerms, number: int) -> Served:
    """Which meet one constraint, whatever else the group asks."""
    term = terms.terms[number]
    if terms.is_spread and term.kind == "required":
        return _served_by_one(terms, (term,))
    return served(terms, (number,))


def served(terms: GroupTerms, keep: Collection[int]) -> Served:
    """Which can serve the group, of whose constraints only ``keep`` (numbers) hold."""
    kept = [term for number, term in enumerate(terms.terms) if number in keep]
    if terms.is_spread:
        return _served_by_several(terms, kept)
    return _served_by_one(terms, kept)


def needs_of(
    terms: GroupTerms, kept: Iterable[Term], spread: SpreadTerms
) -> list[Need]:
    """One need per class; of a group without amounts, one that all can meet."""
    live = terms.state.providers.is_live[: terms.state.providers.height]
    rooms = [term.mask for term in kept if term.kind == "amount"] or [live]
    return [
        Need(
            terms.group.suffix,
            {},
            spread.own & room,
            spread.shared & room,
            spread.anchors,
            is_spread=True,
        )
        for room in rooms
    ]


def spread_of(terms: GroupTerms, kept: Iterable[Term]) -> SpreadTerms:
    """The constraints on givers, joined as the search joins them."""
    kept = list(kept)
    providers = terms.state.providers
    clean, inside, outside = (
        _all_of(kept, kind, providers.height)
        for kind in ("forbidden", "member_of", "not_member_of")
    )
    home = providers.root[: providers.height]
    shared = clean & terms.sharing.mask & inside & outside
    own = clean & (inside | inside[home]) & outside & outside[home]
    for term in kept:
        if term.kind == "in_tree":
            own &= term.mask
            shared = np.zeros_like(shared)
    joint = tuple(term.mask for term in kept if term.kind == "required")
    return SpreadTerms(own, shared, outside, joint)


def joined(
    terms: GroupTerms, needs: Iterable[Need], bearers: Bools, roots: Bools
) -> Bools:
    """bool[providers]: those of ``roots`` around which a giver is in ``bearers``."""
    found = np.zeros_like(roots)
    for need in needs:
        part = Need(
            need.suffix,
            {},
            need.own & bearers,
            need.shared & bearers,
            need.anchors,
        )
        found |= covered(terms.state, part, terms.sharing)
    return found & roots


def _served_by_one(terms: GroupTerms, kept: Iterable[Term]) -> Served:
    mask = terms.state.providers.is_live[: terms.state.providers.height].copy()
    for term in kept:
        mask &= term.mask
    need = Need(terms.group.suffix, {}, mask, mask & terms.sharing.mask)
    return Served(mask, covered(terms.state, need, terms.sharing))


def _served_by_several(terms: GroupTerms, kept: list[Term]) -> Served:
    state = terms.state
    spread = spread_of(terms, kept)
    needs = needs_of(terms, kept, spread)
    trees = live_roots(state)
    for need in needs:
        trees &= covered(state, need, terms.sharing)
    for bearers in spread.joint:
        trees = joined(terms, needs, bearers, trees)
    own = np.logical_or.reduce([need.own for need in needs])
    shared = np.logical_or.reduce([need.shared for need in needs])
    providers = own & trees[state.providers.root[: state.providers.height]]
    reachable = trees & spread.anchors
    providers |= shared & terms.sharing.reaching(reachable)
    return Served(providers, trees)


def _amount(state: State, name: str, amount: int) -> Term:
    index = state.classes.index_of(name)
    if index is None or amount > MAX_INT:
        none = np.zeros(state.providers.height, np.bool_)
        unknown = (name,) if index is None else ()
        return Term("amount", (name,), none, amount, index, unknown)
    return Term("amount", (name,), with_room(state, index, amount), amount, index)


def _labels(
    matrix: BitMatrix,
    index_of: Callable[[str], int | None],
    labels: Labels,
    kinds: tuple[Kind, Kind],
    height: int,
) -> Iterator[Term]:
    """A term for each required set, and one for each forbidden name."""

    def term(kind: Kind, names: Iterable[str], is_wanted: bool) -> Term:
        words = tuple(sorted(names))
        known = {name: index_of(name) for name in words}
        bearers = matrix.any_of((i for i in known.values() if i is not None), height)
        return Term(
            kind,
            words,
            bearers if is_wanted else ~bearers,
            unknown=tuple(name for name, index in known.items() if index is None),
        )

    for names in labels.required:
        yield term(kinds[0], names, True)
    for name in sorted(labels.forbidden):
        yield term(kinds[1], (name,), False)


def _in_tree(state: State, uuid: str) -> Term:
    row = state.providers.row_of(uuid)
    if row is None:
        none = np.zeros(state.providers.height, np.bool_)
        return Term("in_tree", (uuid,), none, unknown=(uuid,))
    home = state.providers.root[: state.providers.height]
    return Term("in_tree", (uuid,), np.asarray(home == home[row]))


def _all_of(terms: Iterable[Term], kind: str, height: int) -> Bools:
    mask = np.ones(height, np.bool_)
    for term in terms:
        if term.kind == kind:
            mask &= term.mask
    return mask
