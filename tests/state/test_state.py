"""The State as a whole: in by changes or by loading, out by rows and keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import ROW_TYPES, AllocationRow, InventoryRow, ProviderRow, key_of
from gantt.state import check
from gantt.state.state import State
from tests.state.books import ROWS, changes, filled


def dump(state: State) -> dict[str, list[Any]]:
    return {table: list(state.rows(table)) for table in ROW_TYPES}


def test_what_goes_in_comes_out() -> None:
    state = filled()
    for table, row in ROWS:
        assert state.get(table, key_of(row)) == row
    assert [(n, r) for n, rows in dump(state).items() for r in rows] == list(ROWS)
    assert state.cursor == Cursor(1, "b")


@pytest.mark.parametrize("table", ROW_TYPES)
def test_what_is_not_there_is_none(table: str) -> None:
    pair = table in (t.PROVIDER_TRAITS, t.PROVIDER_AGGREGATES)
    for key in (
        ((1, 99), (99, 1), (4, 1))
        if pair
        else (99, 0 if table != t.RESOURCE_CLASSES else 7)
    ):
        assert filled().get(table, key) is None


def test_loading_is_the_same_as_applying() -> None:
    loaded = State()
    for table, rows in dump(filled()).items():
        # Providers come in any order: a child may have a lower id than its parent.
        loaded.load(table, rows[::-1] if table == t.PROVIDERS else rows)
    loaded.apply((), Cursor(1, "b"))
    assert dump(loaded) == dump(filled())
    assert check.problems(loaded) == []


def test_loading_comes_in_chunks() -> None:
    loaded = State()
    for table, rows in dump(filled()).items():
        if table == t.PROVIDERS:
            loaded.load(table, rows)
            continue
        for row in rows:
            loaded.load(table, [row])
    assert dump(loaded) == dump(filled())
    assert check.problems(loaded) == []


def test_the_inverse_of_all_is_nothing() -> None:
    state = filled()
    state.apply([one.inverse() for one in reversed(changes())], Cursor())
    assert all(rows == [] for rows in dump(state).values())
    assert check.problems(state) == []
    assert (state.cursor, state.revision) == (Cursor(), 0)


@given(
    st.permutations([n for n, (table, _) in enumerate(ROWS) if table == t.ALLOCATIONS])
)
def test_use_is_a_sum_in_any_order(order: list[int]) -> None:
    state = filled()
    before = dump(state)
    picked = [changes()[n] for n in order]
    state.apply([one.inverse() for one in picked], Cursor(2, "b"))
    assert check.problems(state) == []
    place = state.inventories.slot(0, 0)
    assert place is not None
    assert place[0].used[place[1]] == 0
    state.apply(picked, Cursor(3, "b"))
    assert dump(state) == before
    assert check.problems(state) == []


def test_ids_are_never_given_again() -> None:
    state = filled()
    assert state.next_id(t.PROVIDERS) == 5
    assert state.next_id(t.RESOURCE_CLASSES) == 10_001
    row = ProviderRow(4, "other", "o", 0, 4, None, None, None)
    state.apply(
        [Change(t.ALLOCATIONS, 2, state.get(t.ALLOCATIONS, 2), None)], Cursor(2)
    )
    state.apply(
        [Change(t.INVENTORIES, 2, state.get(t.INVENTORIES, 2), None)], Cursor(3)
    )
    state.apply([Change(t.PROVIDERS, 4, row, None)], Cursor(4))
    assert state.next_id(t.PROVIDERS) == 5
    assert State().next_id(t.PROVIDERS) == 1
    assert State().next_id(t.RESOURCE_CLASSES) == 0


def test_allocations_before_their_inventory_count_when_it_comes() -> None:
    """Old databases, and a reshape that adds a class, bring them in this order."""
    state = filled()
    row = InventoryRow(9, 4, 10_000, 9, 0, 1, 9, 1, 1.0, None, None)
    used = AllocationRow(9, 4, "bob", 10_000, 5, None, None)
    state.apply([Change(t.ALLOCATIONS, 9, None, used)], Cursor(2))
    state.apply([Change(t.INVENTORIES, 9, None, row)], Cursor(3))
    assert check.problems(state) == []


def test_allocations_of_a_consumer_without_a_record_are_kept() -> None:
    """Very old databases have them."""
    state = filled()
    used = AllocationRow(9, 4, "ghost", 0, 1, None, None)
    state.apply([Change(t.ALLOCATIONS, 9, None, used)], Cursor(2))
    assert state.consumers.find("ghost") is None
    assert check.problems(state) == []
    state.apply([Change(t.ALLOCATIONS, 9, used, None)], Cursor(3))
    assert state.consumers.row_by_uuid.get("ghost") is None
    assert check.problems(state) == []


def test_names_are_compared_as_the_database_does() -> None:
    state = State(str.casefold)
    row = ProviderRow(1, "u", "Name", 0, 1, None, None, None)
    state.apply([Change(t.PROVIDERS, 1, None, row)], Cursor(1))
    assert state.providers.row_of_name("nAME") == 0
    renamed = ProviderRow(1, "u", "NAME", 0, 1, None, None, None)
    state.apply([Change(t.PROVIDERS, 1, row, renamed)], Cursor(2))
    assert state.providers.names[0] == "NAME"
    assert state.providers.row_of_name("name") == 0
    assert check.problems(state) == []


def test_two_providers_may_swap_names_within_a_revision() -> None:
    state = filled()
    one = state.get(t.PROVIDERS, 1)
    two = state.get(t.PROVIDERS, 4)
    assert isinstance(one, ProviderRow)
    assert isinstance(two, ProviderRow)
    swap = [
        Change(t.PROVIDERS, 1, one, ProviderRow(1, "root", "o", 0, 1, None, 1, None)),
        Change(
            t.PROVIDERS, 4, two, ProviderRow(4, "other", "r", 0, 4, None, None, None)
        ),
    ]
    state.apply(swap, Cursor(2))
    assert check.problems(state) == []
    assert state.providers.row_of_name("o") == 0
    state.apply([change.inverse() for change in reversed(swap)], Cursor(1))
    assert dump(state) == dump(filled())
    assert check.problems(state) == []


def test_a_class_that_changes_touches_everyone() -> None:
    state = filled()
    renamed = t.NameRow(10_000, "CUSTOM_B", 1, 2)
    state.apply([Change(t.RESOURCE_CLASSES, 10_000, None, renamed)], Cursor(7, "b"))
    assert state.providers.touched[:4].tolist() == [state.applied] * 4
