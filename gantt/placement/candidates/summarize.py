"""From row numbers to uuids and names: the last step of a search.

Separate so that the search itself never touches a string.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gantt.model.answers import Candidate, ProviderSummary, ResourceSummary
from gantt.placement.candidates.combine import Pick
from gantt.placement.candidates.feasible import Need
from gantt.state.column import NO_ROW
from gantt.state.state import State


def candidates(
    state: State, needs: Sequence[Need], picks: Iterable[Pick]
) -> tuple[Candidate, ...]:
    """The picks as candidates."""
    named = [
        (
            need.suffix,
            {state.classes.at(index).name: n for index, n in need.amounts.items()},
        )
        for need in needs
    ]
    return tuple(_candidate(state.providers.uuids, named, pick) for pick in picks)


def summaries(
    state: State,
    needs: Sequence[Need],
    picks: Iterable[Pick],
    *,
    whole_trees: bool,
) -> dict[str, ProviderSummary]:
    """What the providers that give resources are like, or all of their trees."""
    giving = [place for place, need in enumerate(needs) if need.amounts]
    rows = dict.fromkeys(pick[place] for pick in picks for place in giving)
    if whole_trees and not state.providers.forest.is_flat:
        roots = dict.fromkeys(int(state.providers.root[row]) for row in rows)
        rows = dict.fromkeys(
            row for root in roots for row in state.providers.forest.subtree(root)
        )
    return {state.providers.uuids[row]: summary(state, row) for row in rows}


def summary(state: State, row: int) -> ProviderSummary:
    """One provider with all its classes."""
    table = state.providers
    resources = {}
    for class_index in state.inventories.classes_of(row):
        place = state.inventories.slot(row, class_index)
        assert place is not None
        columns, slot = place
        resources[state.classes.at(class_index).name] = ResourceSummary(
            int(columns.capacity[slot]), int(columns.used[slot])
        )
    traits = tuple(
        state.traits.at(label).name for label in state.provider_traits.labels_of(row)
    )
    parent = int(table.parent[row])
    return ProviderSummary(
        resources,
        traits,
        None if parent == NO_ROW else table.uuids[parent],
        table.uuids[table.root[row]],
    )


def _candidate(
    uuids: Sequence[str], named: list[tuple[str, dict[str, int]]], pick: Pick
) -> Candidate:
    allocations: dict[str, dict[str, int]] = {}
    mappings: dict[str, tuple[str, ...]] = {}
    for row, (suffix, amounts) in zip(pick, named, strict=True):
        uuid = uuids[row]
        known = mappings.get(suffix, ())
        if uuid not in known:
            mappings[suffix] = (*known, uuid)
        if amounts:
            given = allocations.setdefault(uuid, {})
            for name, amount in amounts.items():
                given[name] = given.get(name, 0) + amount
    return Candidate(allocations, mappings)
