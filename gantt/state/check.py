"""Every invariant of a State, and the comparison of two.

Shipped, not only tested: ``gantt-manage verify`` runs it on live columns. A finding is
a bug of ours or a database that another program changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gantt.model.rows import ROW_TYPES, LinkRow
from gantt.state.check_fleet import fleet_problems
from gantt.state.column import NO_ROW
from gantt.state.inventories import capacity_of
from gantt.state.state import State


def problems(state: State) -> list[str]:
    """What is wrong within ``state``; empty when all invariants hold."""
    return [
        *_forest(state),
        *_inventories(state),
        *_allocations(state),
        *_consumers(state),
        *_labels(state),
        *fleet_problems(state),
    ]


def differences(left: State, right: State, limit: int = 100) -> list[str]:
    """Rows that the two do not share, at most ``limit``; times of links aside."""
    found: list[str] = []
    for table in ROW_TYPES:
        ours = {_key(row): row for row in left.rows(table)}
        theirs = {_key(row): row for row in right.rows(table)}
        for key in sorted(ours.keys() | theirs.keys()):
            if ours.get(key) != theirs.get(key):
                found.append(f"{table} {key}: {ours.get(key)} != {theirs.get(key)}")
            if len(found) >= limit:
                return found
    return found


def _key(row: object) -> tuple[int, ...]:
    if isinstance(row, LinkRow):
        return (row.resource_provider_id, row.label_id)
    return (int(row.id),)  # type: ignore[attr-defined]


def _forest(state: State) -> Iterator[str]:
    providers = state.providers
    for row in providers.live_rows().tolist():
        uuid = providers.uuids[row]
        parent, root = int(providers.parent[row]), int(providers.root[row])
        if providers.row_of(uuid) != row:
            yield f"provider {uuid}: uuid leads to row {providers.row_of(uuid)}"
        if providers.row_of_name(providers.names[row]) != row:
            yield f"provider {uuid}: name {providers.names[row]!r} leads elsewhere"
        if parent == NO_ROW and root != row:
            yield f"provider {uuid}: no parent, yet its root is row {root}"
        if parent != NO_ROW and root != int(providers.root[parent]):
            yield f"provider {uuid}: its root is not its parent's"
        if parent != NO_ROW and row not in providers.forest.children(parent):
            yield f"provider {uuid}: not among its parent's children"
        if row not in providers.tree(row):
            yield f"provider {uuid}: not within its own tree"
        for child in providers.forest.children(row):
            if int(providers.parent[child]) != row:
                name = providers.uuids[child]
                yield f"provider {uuid}: counts {name} among its children"


def _inventories(state: State) -> Iterator[str]:
    for key in state.inventories.ids():
        place = state.inventories.place_by_id.get(key)
        assert place is not None
        class_index, slot = place
        table = state.inventories.table(class_index)
        assert table is not None
        provider = int(table.provider[slot])
        where = f"inventory {key} ({state.classes.at(class_index).name})"
        if table.id[slot] != key:
            yield f"{where}: its id leads to the slot of {table.id[slot]}"
        if not state.providers.is_live[provider]:
            yield f"{where}: its provider is gone"
        slots = table.slots_of(np.array([provider]))
        if table.slot_of.get(provider) != slot or slots[0] != slot:
            yield f"{where}: its provider leads to another slot"
        if class_index not in state.inventories.classes_of(provider):
            yield f"{where}: not among its provider's classes"
        capacity = capacity_of(
            int(table.total[slot]),
            int(table.reserved[slot]),
            float(table.allocation_ratio[slot]),
        )
        if capacity != table.capacity[slot]:
            yield f"{where}: capacity {table.capacity[slot]}, not {capacity}"
        used = state.allocations.used_on(provider, class_index)
        if used != table.used[slot]:
            yield f"{where}: used {table.used[slot]}, allocations sum to {used}"


def _allocations(state: State) -> Iterator[str]:
    table = state.allocations
    live = table.live_rows()
    classes = {state.classes.index_by_id[row.id] for row in state.classes.rows()}
    seen: set[tuple[int, int, int]] = set()
    for row in live.tolist():
        where = f"allocation {int(table.id[row])}"
        if table.row_by_id.get(int(table.id[row])) != row:
            yield f"{where}: its id leads to another row"
        if not state.providers.is_live[table.provider[row]]:
            yield f"{where}: its provider is gone"
        if not state.consumers.is_live[table.consumer[row]]:
            yield f"{where}: its consumer is gone"
        if int(table.class_index[row]) not in classes:
            yield f"{where}: its class is gone"
        place = (
            int(table.provider[row]),
            int(table.consumer[row]),
            int(table.class_index[row]),
        )
        if place in seen:
            yield (
                f"{where}: there is another of the same provider, consumer and class"
            )
        seen.add(place)
    for name, chain, owners in (
        ("provider", table.by_provider, table.provider),
        ("consumer", table.by_consumer, table.consumer),
    ):
        reached = 0
        for owner in np.unique(owners[live]).tolist():
            for row in chain.rows_of(owner):
                reached += 1
                if owners[row] != owner:
                    yield f"chain of {name} {owner}: row {row} is another's"
        if reached != len(live):
            yield f"chains by {name}: {reached} rows reached, {len(live)} live"


def _consumers(state: State) -> Iterator[str]:
    for row in state.consumers.live_rows().tolist():
        uuid = state.consumers.uuids[row]
        if state.consumers.row_by_uuid.get(uuid) != row:
            yield f"consumer {uuid}: uuid leads to another row"
        known = state.consumers.find(uuid)
        if known is None:
            if state.allocations.by_consumer.is_empty(row):
                yield f"consumer {uuid}: neither a record nor allocations"
            continue
        if state.projects.get(known.project_id) is None:
            yield f"consumer {uuid}: no project {known.project_id}"
        if state.users.get(known.user_id) is None:
            yield f"consumer {uuid}: no user {known.user_id}"
        type_id = known.consumer_type_id
        if type_id is not None and state.consumer_types.get(type_id) is None:
            yield f"consumer {uuid}: no consumer type {type_id}"


def _labels(state: State) -> Iterator[str]:
    live = set(state.providers.live_rows().tolist())
    for name, matrix, names in (
        ("trait", state.provider_traits, state.traits),
        ("aggregate", state.provider_aggregates, state.aggregates),
    ):
        known = {names.index_by_id[row.id] for row in names.rows()}
        for row in range(state.providers.height):
            labels = set(matrix.labels_of(row))
            if labels and row not in live:
                yield f"row {row}: no provider, yet it bears a {name}"
            if labels - known:
                yield f"row {row}: bears a label that is no {name}"
