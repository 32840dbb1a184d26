"""A small State with one of everything, made of plain changes."""

from __future__ import annotations

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import (
    AllocationRow,
    ConsumerRow,
    InventoryRow,
    LinkRow,
    NameRow,
    ProviderRow,
    Row,
    key_of,
)
from gantt.state.state import State

ROWS: tuple[tuple[str, Row], ...] = (
    (t.RESOURCE_CLASSES, NameRow(0, "VCPU", 1, None)),
    (t.RESOURCE_CLASSES, NameRow(10_000, "CUSTOM_A", 1, None)),
    (t.TRAITS, NameRow(1, "HW_CPU_X86_AVX", 1, None)),
    (t.TRAITS, NameRow(2, "CUSTOM_T", 1, None)),
    (t.AGGREGATES, NameRow(1, "agg", 1, None)),
    (t.PROJECTS, NameRow(1, "project", 1, None)),
    (t.USERS, NameRow(1, "user", 1, None)),
    (t.CONSUMER_TYPES, NameRow(1, "INSTANCE", 1, None)),
    (t.PROVIDERS, ProviderRow(1, "root", "r", 0, 1, None, 1, None)),
    (t.PROVIDERS, ProviderRow(2, "child", "c", 0, 1, 1, 1, None)),
    (t.PROVIDERS, ProviderRow(3, "grandchild", "g", 0, 1, 2, 1, None)),
    (t.PROVIDERS, ProviderRow(4, "other", "o", 0, 4, None, None, None)),
    (t.CONSUMERS, ConsumerRow(1, "alice", 1, 1, 1, 1, 1, None)),
    (t.CONSUMERS, ConsumerRow(2, "bob", 1, 1, 1, None, 1, None)),
    (t.INVENTORIES, InventoryRow(1, 1, 0, 8, 0, 1, 8, 1, 2.0, 1, None)),
    (t.INVENTORIES, InventoryRow(2, 4, 0, 8, 2, 1, 8, 1, 1.0, 1, None)),
    (t.INVENTORIES, InventoryRow(3, 1, 10_000, 5, 0, 1, 5, 1, 1.0, 1, None)),
    (t.ALLOCATIONS, AllocationRow(1, 1, "alice", 0, 3, 1, None)),
    (t.ALLOCATIONS, AllocationRow(2, 4, "alice", 0, 2, 1, None)),
    (t.ALLOCATIONS, AllocationRow(3, 1, "bob", 0, 4, 1, None)),
    (t.PROVIDER_TRAITS, LinkRow(1, 1, None, None)),
    (t.PROVIDER_TRAITS, LinkRow(2, 2, None, None)),
    (t.PROVIDER_AGGREGATES, LinkRow(1, 1, None, None)),
)


def changes() -> list[Change]:
    return [Change(table, key_of(row), None, row) for table, row in ROWS]


def filled() -> State:
    state = State()
    state.apply(changes(), Cursor(1, "b"))
    return state
