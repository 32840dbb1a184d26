"""What a request needs, and which providers can give it: array passes only.

It turns names into masks over all providers once, so that everything after it works on
row numbers and looks at single trees.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from gantt.model.names import MAX_INT
from gantt.model.requests import CandidateRequest, Labels, RequestGroup
from gantt.placement.candidates.sharing_providers import SharingProviders
from gantt.placement.queries import (
    bearing,
    class_amounts,
    trait_indexes,
    with_room,
)
from gantt.state.column import ANY, NO_ROW, Bools
from gantt.state.state import State


class Need(Struct, frozen=True, eq=False):
    """Amounts that one provider has to give, and which can.

    A suffixed group is one need; the unsuffixed group is one per class, for it may be
    spread. All masks are bool[providers]: ``own``, which can for their tree;
    ``shared``, for trees that they share with; ``anchors``, the roots of trees
    that may take it from a sharing provider (None: any).
    """

    suffix: str
    amounts: dict[int, int]
    own: Bools
    shared: Bools
    anchors: Bools | None = None
    is_spread: bool = False


class Match(Struct, frozen=True, eq=False):
    """The needs of one group. ``together``: for each required set of traits, which bear
    one of it; the providers of all ``needs`` together must satisfy each."""

    needs: tuple[Need, ...]
    together: tuple[Bools, ...] = ()


class ResolvedRequest(Struct, frozen=True, eq=False):
    """A request in rows and masks. ``allowed``: bool[providers], roots to consider."""

    state: State
    request: CandidateRequest
    sharing: SharingProviders
    allowed: Bools
    needs: tuple[Need, ...] = ()
    together: tuple[Bools, ...] = ()


def aggregate_indexes(
    state: State, aggregates: Labels
) -> tuple[list[frozenset[int]], frozenset[int]]:
    """(alternatives, forbidden) by aggregate index. An aggregate that was never named
    has no index."""

    def indexes(names: frozenset[str]) -> frozenset[int]:
        found = (state.aggregates.index_of(name) for name in names)
        return frozenset(index for index in found if index is not None)

    return [indexes(names) for names in aggregates.required], indexes(
        aggregates.forbidden
    )


def allowed_roots(state: State, traits: Labels) -> Bools:
    """bool[providers]: roots that bear what a root must bear. Raises UnknownName."""
    table = state.providers
    required, forbidden = trait_indexes(state, traits)
    mask = bearing(state.provider_traits, required, forbidden, table.height)
    mask &= table.is_live[: table.height]
    if not table.forest.is_flat:
        mask &= table.root[: table.height] == np.arange(table.height)
    return mask


def match(state: State, group: RequestGroup, sharing: SharingProviders) -> Match | None:
    """The needs of ``group``, or None as soon as it is plain that none can.

    The order in which the parts are judged shows: an unknown trait is not noticed when
    no provider is in the aggregates that are asked for. Raises UnknownName.
    """
    amounts = class_amounts(state, group.resources)
    height = state.providers.height
    among, not_among = aggregate_indexes(state, group.member_of)
    inside = bearing(state.provider_aggregates, among, frozenset(), height)
    if group.member_of.required and not inside.any():
        return None
    required, forbidden = trait_indexes(state, group.traits)
    if group.in_tree is not None and state.providers.row_of(group.in_tree) is None:
        return None
    limits = _Limits(
        bearing(state.provider_traits, (), forbidden, height),
        tuple(state.provider_traits.any_of(labels, height) for labels in required),
        inside,
        bearing(state.provider_aggregates, (), not_among, height),
    )
    if group.suffix or not amounts:
        return _whole(state, group, amounts, sharing, limits)
    return _spread(state, group, amounts, sharing, limits)


def covered(state: State, need: Need, sharing: SharingProviders) -> Bools:
    """bool[providers]: roots of trees in or around which a provider meets ``need``."""
    table = state.providers
    if table.forest.is_flat:
        found = need.own.copy()
    else:
        found = np.zeros(table.height, np.bool_)
        found[table.root[: table.height][need.own]] = True
    if need.shared.any():
        reach = sharing.reach(need.shared)
        found |= reach if need.anchors is None else reach & need.anchors
    return found


def bearing_together(resolved: ResolvedRequest) -> Bools:
    """bool[providers]: roots around which the traits that the unsuffixed group wants
    can be found at all, on providers that can give it something."""
    state = resolved.state
    found = np.ones(state.providers.height, np.bool_)
    for traits in resolved.together:
        one = np.zeros(state.providers.height, np.bool_)
        for need in resolved.needs:
            if need.is_spread:
                part = Need(
                    need.suffix,
                    need.amounts,
                    need.own & traits,
                    need.shared & traits,
                    need.anchors,
                )
                one |= covered(state, part, resolved.sharing)
        found &= one
    return found


def alone(resolved: ResolvedRequest, roots: Bools) -> Bools:
    """bool[providers]: which of ``roots`` have no kin, and no sharing provider to use
    but themselves."""
    table, sharing = resolved.state.providers, resolved.sharing
    found = roots.copy()
    if not table.forest.is_flat:
        has_parent = table.parent[: table.height] != NO_ROW
        found[table.root[: table.height][has_parent]] = False
    lent = ANY([need.shared for need in resolved.needs])
    sharers = found & lent
    found &= ~sharing.reach(lent)
    for root in np.flatnonzero(sharers).tolist():
        found[root] = not any(lent[row] for row in sharing.around(root) - {root})
    return found


def with_room_for_all(resolved: ResolvedRequest) -> Bools:
    """bool[providers]: which, if able to meet each need, can meet all of them alone."""
    state = resolved.state
    whole = sum(not need.is_spread for need in resolved.needs)
    if resolved.request.isolate and whole > 1:
        return np.zeros(state.providers.height, np.bool_)
    found = np.ones(state.providers.height, np.bool_)
    for class_index, amounts in contested(resolved.needs).items():
        table = state.inventories.table(class_index)
        assert table is not None, "a provider can meet each need"
        lacks = ~table.can_take(sum(amounts)) & table.is_live[: table.height]
        found[table.provider[: table.height][lacks]] = False
    return found


def contested(needs: Iterable[Need]) -> dict[int, list[int]]:
    """The amounts of each class that more than one need wants."""
    wanted: dict[int, list[int]] = {}
    for need in needs:
        for class_index, amount in need.amounts.items():
            wanted.setdefault(class_index, []).append(amount)
    return {index: amounts for index, amounts in wanted.items() if len(amounts) > 1}


class _Limits(Struct, frozen=True, eq=False):
    """What a group says of its providers, as bool[providers]."""

    clean: Bools
    bears: tuple[Bools, ...]
    inside: Bools
    outside: Bools


def _whole(
    state: State,
    group: RequestGroup,
    amounts: dict[int, int],
    sharing: SharingProviders,
    limits: _Limits,
) -> Match | None:
    if not amounts and not (group.traits.required or group.member_of.required):
        # As upstream: a group that only says what it is not, is nothing.
        return None
    mask = limits.clean & limits.inside & limits.outside
    mask &= state.providers.is_live[: state.providers.height]
    for traits in limits.bears:
        mask &= traits
    if amounts and group.in_tree is not None:
        mask &= _in_tree(state, group.in_tree)
    for class_index, amount in amounts.items():
        mask &= _room(state, class_index, amount)
    if not mask.any():
        return None
    return Match((Need(group.suffix, amounts, mask, mask & sharing.mask),))


def _spread(
    state: State,
    group: RequestGroup,
    amounts: dict[int, int],
    sharing: SharingProviders,
    limits: _Limits,
) -> Match | None:
    """A provider for each class, from one tree and from those that share with it."""
    if not all(mask.any() for mask in limits.bears):
        return None
    inside, outside = limits.inside, limits.outside
    shared = limits.clean & sharing.mask & inside & outside
    if not state.providers.forest.is_flat:
        # What is said of a root's aggregates is said of its whole tree.
        home = state.providers.root[: state.providers.height]
        inside, outside = inside | inside[home], outside & outside[home]
    own = limits.clean & inside & outside
    if group.in_tree is not None:
        own &= _in_tree(state, group.in_tree)
        shared = np.zeros_like(shared)
    needs = []
    for class_index, amount in amounts.items():
        room = _room(state, class_index, amount)
        if not (room & (own | shared)).any():
            return None
        needs.append(
            Need(
                group.suffix,
                {class_index: amount},
                own & room,
                shared & room,
                limits.outside,
                is_spread=True,
            )
        )
    return Match(tuple(needs), limits.bears)


def _in_tree(state: State, uuid: str) -> Bools:
    row = state.providers.row_of(uuid)
    assert row is not None, "callers have looked it up"
    home = state.providers.root[: state.providers.height]
    return np.asarray(home == home[row])


def _room(state: State, class_index: int, amount: int) -> Bools:
    if amount > MAX_INT:
        return np.zeros(state.providers.height, np.bool_)
    return with_room(state, class_index, amount)
