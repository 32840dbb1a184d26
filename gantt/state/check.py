"""Every invariant of a State, and the comparison of two.

Shipped, not only tested: ``gantt-manage verify`` runs it on live columns. A finding is
a bug of ours or a database that another program changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from gantt.model import rows as t
from gantt.model.rows import ROW_TYPES, Key, key_of
from gantt.state.check_fleet import fleet_problems
from gantt.state.column import NO_ROW
from gantt.state.inventory_columns import capacity_of
from gantt.state.state import State

Pause: TypeAlias = Callable[[], None]
"""Called between two things: the State may be another after it, and what is looked at
next is looked up again."""
_CHAINS = 64


def _go_on() -> None:
    """Do not pause."""


def problems(state: State, pause: Pause = _go_on) -> list[str]:
    """What is wrong within ``state``; empty when all invariants hold."""
    return [
        *_forest(state, pause),
        *_inventories(state, pause),
        *_allocations(state, pause),
        *_chains(state, pause),
        *_consumers(state, pause),
        *_labels(state, pause),
        *fleet_problems(state, pause),
    ]


def differences(
    left: State, right: State, limit: int = 100, pause: Pause = _go_on
) -> list[str]:
    """Rows that the two do not share, at most ``limit``; times of links aside."""
    found: list[str] = []
    for table in ROW_TYPES:
        for key in sorted({*_keys(left, table), *_keys(right, table)}):
            pause()
            for what in _differing(left, right, table, key):
                found.append(f"{table} {what}")
                if len(found) >= limit:
                    return found
    return found


def counts(state: State, pause: Pause = _go_on) -> Iterator[tuple[str, int]]:
    """How many rows each table has."""
    for table in ROW_TYPES:
        keys = _keys(state, table)
        if table not in _LABELS:
            yield table, len(keys)
            continue
        labels = 0
        for key in keys:
            pause()
            labels += len(_labels_of(state, table, key))
        yield table, labels


_LABELS = (t.PROVIDER_TRAITS, t.PROVIDER_AGGREGATES)


def _keys(state: State, table: str) -> list[int]:
    """The keys of a table; of labels those of the providers that may bear them."""
    if table in _LABELS or table == t.PROVIDERS:
        return list(state.providers.row_by_id)
    if table == t.INVENTORIES:
        return list(state.inventories.ids())
    if table == t.ALLOCATIONS:
        return list(state.allocations.ids())
    if table == t.CONSUMERS:
        return list(state.consumers.ids())
    return [key for key in map(key_of, state.rows(table)) if isinstance(key, int)]


def _differing(left: State, right: State, table: str, key: int) -> Iterator[str]:
    if table not in _LABELS:
        ours, theirs = left.get(table, key), right.get(table, key)
        if ours != theirs:
            yield f"{(key,)}: {ours} != {theirs}"
        return
    mine, other = _labels_of(left, table, key), _labels_of(right, table, key)
    for label in sorted(mine ^ other):
        place: Key = (key, label)
        yield f"{place}: {left.get(table, place)} != {right.get(table, place)}"


def _labels_of(state: State, table: str, provider_id: int) -> set[int]:
    """The ids of the labels that a provider bears."""
    row = state.providers.row_by_id.get(provider_id)
    if row is None:
        return set()
    is_trait = table == t.PROVIDER_TRAITS
    matrix = state.provider_traits if is_trait else state.provider_aggregates
    names = state.traits if is_trait else state.aggregates
    return {names.at(one).id for one in matrix.labels_of(row)}


def _forest(state: State, pause: Pause) -> Iterator[str]:
    providers = state.providers
    for row in providers.live_rows().tolist():
        pause()
        if not providers.is_live[row]:
            continue
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


def _inventories(state: State, pause: Pause) -> Iterator[str]:
    for key in state.inventories.ids():
        pause()
        place = state.inventories.place_by_id.get(key)
        if place is None:
            continue
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


def _allocations(state: State, pause: Pause) -> Iterator[str]:
    table = state.allocations
    for row in table.live_rows().tolist():
        pause()
        if not table.is_live[row]:
            continue
        where = f"allocation {int(table.id[row])}"
        if table.row_by_id.get(int(table.id[row])) != row:
            yield f"{where}: its id leads to another row"
        if not state.providers.is_live[table.provider[row]]:
            yield f"{where}: its provider is gone"
        if not state.consumers.is_live[table.consumer[row]]:
            yield f"{where}: its consumer is gone"
        class_index = int(table.class_index[row])
        if state.classes.find_at(class_index) is None:
            yield f"{where}: its class is gone"
        place = int(table.provider[row]), class_index
        for other in table.by_consumer.rows_of(int(table.consumer[row])):
            if other < row and place == (
                table.provider[other],
                table.class_index[other],
            ):
                yield (
                    f"{where}: there is another of the same provider, consumer and "
                    "class"
                )


def _chains(state: State, pause: Pause) -> Iterator[str]:
    table = state.allocations
    for name, chain, owners in (
        ("provider", table.by_provider, "provider"),
        ("consumer", table.by_consumer, "consumer"),
    ):
        everyone = np.unique(getattr(table, owners)[table.live_rows()])
        for start in range(0, len(everyone), _CHAINS):
            pause()
            some, column = everyone[start : start + _CHAINS], getattr(table, owners)
            mine = column[table.live_rows()]
            live = int(np.isin(mine, some).sum())
            reached = 0
            for owner in some.tolist():
                for row in chain.rows_of(owner):
                    reached += 1
                    if column[row] != owner:
                        yield f"chain of {name} {owner}: row {row} is another's"
            if reached != live:
                yield f"chains by {name}: {reached} rows reached, {live} live"


def _consumers(state: State, pause: Pause) -> Iterator[str]:
    for row in state.consumers.live_rows().tolist():
        pause()
        if not state.consumers.is_live[row]:
            continue
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


def _labels(state: State, pause: Pause) -> Iterator[str]:
    for name, matrix, names in (
        ("trait", state.provider_traits, state.traits),
        ("aggregate", state.provider_aggregates, state.aggregates),
    ):
        for row in range(state.providers.height):
            pause()
            labels = matrix.labels_of(row)
            if labels and not state.providers.is_live[row]:
                yield f"row {row}: no provider, yet it bears a {name}"
            if any(names.find_at(one) is None for one in labels):
                yield f"row {row}: bears a label that is no {name}"
