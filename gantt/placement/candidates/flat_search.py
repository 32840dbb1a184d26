"""The first few of a flat fleet, without a look at all of it.

Where no provider has a parent and none shares, a candidate is one provider, and the
oldest that match are found by going through them window by window. So a search for ten
costs the same among ten thousand providers as among a hundred thousand. A shortcut
only: what it answers is what ``search`` answers without it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct

from gantt.errors import UnknownName
from gantt.model.names import MAX_INT, SHARES_VIA_AGGREGATE
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.provider_masks import aggregate_indexes
from gantt.placement.candidates.search_answer import Part, Rows
from gantt.placement.queries import class_amounts, trait_indexes
from gantt.state.bits import BitMatrix
from gantt.state.column import NO_ROW, Bools
from gantt.state.state import State

Labeled = tuple[BitMatrix, frozenset[int]]

# Fleets below the first number of rows, and limits above the second, gain nothing.
SMALL_FLEET = 4096
LARGE_LIMIT = 1024
# As many rows are looked at one by one sooner than with all others.
FEW_ROWS = 16


class FlatRequest(Struct, frozen=True, eq=False):
    """A request to one provider: amounts of each class, one by one and in sum; sets of
    labels of which it must bear one, and of which it must bear none."""

    parts: tuple[Part, ...]
    amounts: dict[int, list[int]]
    bears: tuple[Labeled, ...]
    lacks: tuple[Labeled, ...]


def first(
    state: State, request: CandidateRequest, count: int, *, small: int = SMALL_FLEET
) -> tuple[tuple[Part, ...], Rows] | None:
    """What each gives, and the oldest ``count`` providers that match; or None where
    they are not found this way: a fleet that is small or not flat, few that match,
    names that are unknown."""
    height = state.providers.height
    if height <= small or count > LARGE_LIMIT or not is_flat(state):
        return None
    try:
        wanted = wanted_by(state, request)
    except UnknownName:
        return None
    if wanted is None:
        return None
    found = np.empty(0, np.intp)
    size = max(count, small // 16)
    for start, stop in pairwise((0, size, 3 * size, 7 * size)):
        rows = _matching(state, wanted, min(start, height), min(stop, height))
        found = np.append(found, rows)
        if len(found) >= count:
            return wanted.parts, found[:count]
    return None


def is_flat(state: State) -> bool:
    """Whether each provider is on its own, and rows are in the order of age."""
    providers, shares = state.providers, state.traits.index_of(SHARES_VIA_AGGREGATE)
    if not providers.forest.is_flat:
        return False
    if shares is not None and state.provider_traits.is_used(shares):
        return False
    ids = providers.id[: providers.height]
    if (ids[1:] > ids[:-1]).all():
        return True
    live = ids[providers.is_live[: providers.height]]
    return bool((live[1:] > live[:-1]).all())


def wanted_by(state: State, request: CandidateRequest) -> FlatRequest | None:
    """None where a single provider is not the answer. Raises UnknownName."""
    groups = request.groups
    if request.isolate and sum(group.suffix != "" for group in groups) > 1:
        return None
    if any(group.in_tree is not None or not group.resources for group in groups):
        return None
    parts = tuple((g.suffix, class_amounts(state, g.resources)) for g in groups)
    amounts: dict[int, list[int]] = {}
    for _, mine in parts:
        for class_index, amount in mine.items():
            amounts.setdefault(class_index, []).append(amount)
    if any(sum(each) > MAX_INT for each in amounts.values()):
        return None
    bears: list[Labeled] = []
    lacks: list[Labeled] = []
    for traits in (request.root_traits, *(group.traits for group in groups)):
        required, forbidden = trait_indexes(state, traits)
        bears += [(state.provider_traits, labels) for labels in required]
        lacks.append((state.provider_traits, forbidden))
    for group in groups:
        required, forbidden = aggregate_indexes(state, group.member_of)
        bears += [(state.provider_aggregates, labels) for labels in required]
        lacks.append((state.provider_aggregates, forbidden))
    lacking = tuple((matrix, labels) for matrix, labels in lacks if labels)
    return FlatRequest(parts, amounts, tuple(bears), lacking)


def _matching(state: State, wanted: FlatRequest, start: int, stop: int) -> Rows:
    """intp[n]: those of the rows from ``start`` below ``stop`` that match."""
    mask = state.providers.is_live[start:stop].copy()
    for matrix, labels in wanted.bears:
        mask &= matrix.any_of(labels, stop, start)
    for matrix, labels in wanted.lacks:
        mask &= ~matrix.any_of(labels, stop, start)
    rows = np.flatnonzero(mask) + start
    for class_index, amounts in wanted.amounts.items():
        table = state.inventories.table(class_index)
        if table is None:
            return rows[:0]
        slots = table.slots_of(rows)
        # NO_ROW reads the last slot, which is another provider's; its verdict is void.
        fits = slots != NO_ROW
        for amount in set(amounts):
            fits &= table.has_room(amount, slots)
        if len(amounts) > 1:
            fits &= table.can_take(sum(amounts), slots)
        rows = rows[fits]
    return rows


def meets(state: State, wanted: FlatRequest, rows: Rows) -> Bools:
    """bool[n]: which of some ``rows`` match, whatever the others are like."""
    if len(rows) <= FEW_ROWS:
        found = np.empty(len(rows), np.bool_)
        for place, row in enumerate(rows.tolist()):
            found[place] = meets_at(state, wanted, row)
        return found
    mask = state.providers.is_live[rows].copy()
    height = int(rows.max()) + 1
    for matrix, labels in wanted.bears:
        mask &= matrix.any_of(labels, height)[rows]
    for matrix, labels in wanted.lacks:
        mask &= ~matrix.any_of(labels, height)[rows]
    for class_index, amounts in wanted.amounts.items():
        table = state.inventories.table(class_index)
        if table is None:
            return np.zeros(len(rows), np.bool_)
        slots = table.slots_of(rows)
        mask &= slots != NO_ROW
        for amount in set(amounts):
            mask &= table.has_room(amount, slots)
        if len(amounts) > 1:
            mask &= table.can_take(sum(amounts), slots)
    return mask


def meets_at(state: State, wanted: FlatRequest, row: int) -> bool:
    """Whether one row matches; array passes would cost more than they look at."""
    if not state.providers.is_live[row]:
        return False
    for matrix, labels in wanted.bears:
        if not matrix.has_any(row, labels):
            return False
    for matrix, labels in wanted.lacks:
        if matrix.has_any(row, labels):
            return False
    return state.inventories.has_room_at(row, wanted.amounts)
