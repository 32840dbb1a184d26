"""Free capacity: arrays against one comparison at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.model.rows import InventoryRow
from gantt.state.inventory_columns import Inventories, capacity_of

units = st.integers(1, 9) | st.just(MAX_INT)
rows = st.builds(
    InventoryRow,
    id=st.integers(1, 12),
    resource_provider_id=st.just(0),
    resource_class_id=st.just(0),
    total=units,
    reserved=st.integers(0, 9),
    min_unit=units,
    max_unit=units,
    step_size=units,
    allocation_ratio=st.sampled_from((1.0, 1.15, 0.1, 0.0, -1.0, 16.0, MAX_RATIO)),
    created_at=st.none(),
    updated_at=st.none(),
)


@given(
    st.lists(rows, unique_by=lambda row: row.id, min_size=1),
    st.lists(st.integers(1, 12)),
    st.integers(1, 12) | st.sampled_from((MAX_INT, MAX_INT + 1, 2**63 - 1, 10**30)),
    st.integers(0, 9),
)
def test_room(
    inventories: list[InventoryRow], gone: list[int], amount: int, used: int
) -> None:
    """A provider per inventory, its row the id of the inventory."""
    books, model = Inventories(), {row.id: row for row in inventories}
    for row in inventories:
        books.put(row, row.id, 0, used)
    for key in gone:
        if model.pop(key, None):
            assert books.remove(key) == key
            assert books.classes_of(key) == ()
    table = books.table(0)
    assert table is not None
    has_room, can_take = table.has_room(amount), table.can_take(amount)
    assert len(has_room) == len(can_take) == table.height
    assert not books.has_room_at(13, {0: [1]})
    assert not books.has_room_at(1, {1: [1]})
    for key, row in model.items():
        slot = table.slot_of[key]
        capacity = (row.total - row.reserved) * row.allocation_ratio
        assert capacity_of(row.total, row.reserved, row.allocation_ratio) == capacity
        fits = used + amount <= capacity and amount <= row.max_unit
        assert can_take[slot] == fits
        fits = fits and amount >= row.min_unit and amount % row.step_size == 0
        assert has_room[slot] == fits
        if used + amount <= MAX_INT:
            assert books.has_room_at(key, {0: [amount]}) == fits
            parts = [amount - amount // 2, amount // 2]
            each = all(table.has_room(part)[slot] for part in parts)
            both = each and can_take[slot]
            assert 0 in parts or books.has_room_at(key, {0: parts}) == both
        assert table.has_room(amount, slice(slot, slot + 1)).tolist() == [fits]
        largest = int(table.largest(amount)[slot])
        assert table.largest(amount, slice(slot, slot + 1)).tolist() == [largest]
        assert (largest == amount) == fits
        assert largest == 0 or table.has_room(largest)[slot]
        above = range(largest + 1, min(amount, largest + 12) + 1)
        assert not any(table.has_room(more)[slot] for more in above)
    assert has_room.sum() <= len(model)
    assert list(books.ids()) == sorted(model)


@given(
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 3))),
    st.lists(st.integers(0, 7)),
)
def test_any_of_each(places: set[tuple[int, int]], providers: list[int]) -> None:
    books = Inventories()
    for key, (provider, class_index) in enumerate(sorted(places)):
        row = InventoryRow(key, provider, class_index, 1, 0, 1, 1, 1, 1.0, None, None)
        books.put(row, provider, class_index, 0)
    is_each = all(books.classes_of(provider) for provider in providers)
    assert books.is_any_of_each(np.array(providers, np.intp)) == is_each
