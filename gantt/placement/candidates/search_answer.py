"""From row numbers to uuids and names: the last step of a search.

Separate so that the search itself never touches a string.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gantt.model.answers import Candidate, ProviderSummary, ResourceSummary
from gantt.placement.candidates.combination import Combination
from gantt.state.column import NO_ROW
from gantt.state.state import State

# What one provider has to give: the suffix of the group, and amounts by class index.
Part = tuple[str, dict[int, int]]
# Provider rows; of combinations: in the shape [combinations, parts].
Rows = NDArray[np.intp]


def candidates(
    state: State, parts: Sequence[Part], combinations: Sequence[Combination]
) -> tuple[Candidate, ...]:
    """The combinations as candidates."""
    named = [
        (
            suffix,
            {state.classes.at(index).name: n for index, n in amounts.items()},
        )
        for suffix, amounts in parts
    ]
    uuids = state.providers.uuids
    suffixes = tuple(dict.fromkeys(suffix for suffix, _ in named))
    total: Counter[str] = Counter()
    for _, amounts in named:
        total.update(amounts)
    size, all_amounts = len(parts), dict(total)
    found = []
    for combination in combinations:
        row = combination[0]
        if size == 1 or combination.count(row) == size:
            uuid = uuids[row]
            share = {uuid: all_amounts} if all_amounts else {}
            found.append(Candidate(share, dict.fromkeys(suffixes, (uuid,))))
        else:
            found.append(_candidate(uuids, named, combination))
    return tuple(found)


def summaries(
    state: State,
    parts: Sequence[Part],
    combinations: Rows,
    *,
    whole_trees: bool,
) -> dict[str, ProviderSummary]:
    """What the providers that give resources are like, or all of their trees."""
    rows = rows_of(state, parts, combinations, whole_trees=whole_trees)
    return summaries_of(state, rows.tolist())


def rows_of(
    state: State,
    parts: Sequence[Part],
    combinations: Rows,
    *,
    whole_trees: bool,
) -> Rows:
    """intp[n]: the rows that summaries are due for, each once."""
    giving = [place for place, (_, amounts) in enumerate(parts) if amounts]
    rows = _distinct(combinations[:, giving].ravel())
    if whole_trees and not state.providers.forest.is_flat:
        roots = dict.fromkeys(state.providers.root[rows].tolist())
        subtree = state.providers.forest.subtree
        return np.array([row for root in roots for row in subtree(root)], np.intp)
    return rows


def _distinct(rows: Rows) -> Rows:
    """Each once, in the order in which they first occur."""
    _, firsts = np.unique(rows, return_index=True)
    return rows[np.sort(firsts)]


def summaries_of(state: State, rows: list[int]) -> dict[str, ProviderSummary]:
    """The providers at ``rows`` with all their classes and traits, by uuid."""
    table = state.providers
    uuids = table.uuids
    parents, roots = table.parent[rows].tolist(), table.root[rows].tolist()
    return {
        uuids[row]: ProviderSummary(
            resources,
            traits,
            None if parent == NO_ROW else uuids[parent],
            uuids[root],
        )
        for row, resources, traits, parent, root in zip(
            rows,
            _resources(state, rows),
            _traits(state, rows),
            parents,
            roots,
            strict=True,
        )
    }


def _resources(state: State, rows: list[int]) -> list[dict[str, ResourceSummary]]:
    """Per row its classes. Class by class, so that columns are read in one go."""
    found: list[dict[str, ResourceSummary]] = [{} for _ in rows]
    classes_of = state.inventories.classes_of
    places: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        for class_index in classes_of(row):
            places.setdefault(class_index, []).append(place)
    for class_index in sorted(places):
        table = state.inventories.table(class_index)
        assert table is not None, "a provider with a class has a place in its table"
        name = state.classes.at(class_index).name
        slots = [table.slot_of[rows[place]] for place in places[class_index]]
        capacity, used = table.amounts(np.array(slots, np.int64))
        columns = places[class_index], capacity.tolist(), used.tolist()
        for place, most, taken in zip(*columns, strict=True):
            found[place][name] = ResourceSummary(int(most), taken)
    return found


def _traits(state: State, rows: list[int]) -> list[tuple[str, ...]]:
    """Per row its traits; providers that bear the same share one tuple."""
    names: dict[bytes, tuple[str, ...]] = {}
    found = []
    for row, pattern in zip(rows, state.provider_traits.patterns(rows), strict=True):
        if pattern not in names:
            labels = state.provider_traits.labels_of(row)
            names[pattern] = tuple(state.traits.at(label).name for label in labels)
        found.append(names[pattern])
    return found


def _candidate(
    uuids: Sequence[str],
    named: list[tuple[str, dict[str, int]]],
    combination: Combination,
) -> Candidate:
    """One combination that uses several providers."""
    allocations: dict[str, dict[str, int]] = {}
    mappings: dict[str, tuple[str, ...]] = {}
    for row, (suffix, amounts) in zip(combination, named, strict=True):
        uuid = uuids[row]
        known = mappings.get(suffix)
        if known is None:
            mappings[suffix] = (uuid,)
        elif uuid not in known:
            mappings[suffix] = (*known, uuid)
        if amounts:
            given = allocations.get(uuid)
            if given is None:
                allocations[uuid] = dict(amounts)
            else:
                for name, amount in amounts.items():
                    given[name] = given.get(name, 0) + amount
    return Candidate(allocations, mappings)
