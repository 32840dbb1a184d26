"""The View: what is used, plus or minus what is being decided."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.model.rows import (
    AllocationRow,
    HostRow,
    InventoryRow,
    NameRow,
    ProviderRow,
    Row,
)
from gantt.model.topology import DeviceRequest, Fit, FitLack, HostTopology, Pool, Wanted
from gantt.state.slot_amounts import Refusal, Slot, SlotLimits
from gantt.state.state import State
from gantt.state.view import View
from gantt.topology.promised_topology import PromisedTopology
from tests.work.counting import calls

SLOTS: tuple[Slot, ...] = tuple(product(range(3), range(2)))
KEYS = {slot: number for number, slot in enumerate(SLOTS, 1)}

units = st.integers(1, 9) | st.just(MAX_INT)
ratios = st.sampled_from((1.0, 1.15, 0.1, 0.0, 16.0, MAX_RATIO))
limits = st.builds(
    SlotLimits,
    min_unit=units,
    max_unit=units,
    step_size=units,
    capacity=st.floats(-9, 50) | st.just(2.0**60),
)
amounts = st.integers(1, 12) | st.sampled_from((MAX_INT, 2**63 - 1, 10**30))
inventories = st.fixed_dictionaries(
    {},
    optional={
        slot: st.builds(
            InventoryRow,
            id=st.just(KEYS[slot]),
            resource_provider_id=st.just(slot[0] + 1),
            resource_class_id=st.just(slot[1]),
            total=units,
            reserved=st.integers(0, 9),
            min_unit=units,
            max_unit=units,
            step_size=units,
            allocation_ratio=ratios,
            created_at=st.none(),
            updated_at=st.none(),
        )
        for slot in SLOTS
    },
)
used = st.fixed_dictionaries({slot: st.integers(0, 20) for slot in SLOTS})


def apply(state: State, *pairs: tuple[str, Row]) -> None:
    changes = [Change(table, t.key_of(row), None, row) for table, row in pairs]
    state.apply(changes, Cursor(state.revision + 1))


def allocation(slot: Slot, number: int, amount: int) -> tuple[str, Row]:
    consumer = f"c-{number}"
    provider, class_index = slot
    return t.ALLOCATIONS, AllocationRow(
        number, provider + 1, consumer, class_index, amount, 1, None
    )


def state_of(rows: dict[Slot, InventoryRow], taken: dict[Slot, int]) -> State:
    """Rows of providers and indexes of classes are those of SLOTS."""
    state = State()
    for number in range(2):
        apply(state, (t.RESOURCE_CLASSES, NameRow(number, f"CUSTOM_{number}", 1, None)))
    for row in range(3):
        key = row + 1
        made = ProviderRow(key, f"p-{key}", f"p{key}", 0, key, None, 1, None)
        apply(state, (t.PROVIDERS, made))
    for inventory in rows.values():
        apply(state, (t.INVENTORIES, inventory))
    for slot, amount in taken.items():
        if amount:
            apply(state, allocation(slot, KEYS[slot], amount))
    return state


class Naive(Struct):
    """Each slot has its limits, what was used and what is used, each host what is used
    more of it: nothing is undone, the differences are copied."""

    limits: dict[Slot, SlotLimits]
    known: dict[Slot, int]
    more: dict[Slot, int] = {}
    on_hosts: dict[int, list[int]] = {}

    def copy(self) -> Naive:
        on_hosts = {row: list(used) for row, used in self.on_hosts.items()}
        return Naive(dict(self.limits), self.known, dict(self.more), on_hosts)

    def refused(self, wanted: dict[Slot, int]) -> Slot | None:
        lacking = (one for one in wanted.items() if self.refusal(*one) is not None)
        return next(lacking, (None, 0))[0]

    def refusal(self, slot: Slot, amount: int) -> Refusal | None:
        found = self.limits.get(slot)
        if found is None:
            return Refusal()
        before = self.known[slot]
        now = before + self.more.get(slot, 0)
        if amount < found.min_unit or amount > found.max_unit:
            return Refusal(found, now)
        if amount % found.step_size != 0:
            return Refusal(found, now)
        if now + amount <= max(found.capacity, before):
            return None
        return Refusal(found, now, is_full=True)


def limits_of(row: InventoryRow) -> SlotLimits:
    return SlotLimits(
        row.min_unit,
        row.max_unit,
        row.step_size,
        (row.total - row.reserved) * row.allocation_ratio,
    )


def changed(
    view: View, naive: Naive, kept: list[tuple[int, Naive]], what: str, value: Any
) -> Naive:
    """Both with the same difference more, or with those since a mark less."""
    if what == "add":
        slot, amount = value
        view.add(slot, amount)
        naive.more[slot] = naive.more.get(slot, 0) + amount
    elif what == "add flat":
        class_index, each = value
        rows = np.array([row for row, _ in each], np.intp)
        added = np.array([amount for _, amount in each], np.int64)
        view.add_flat(class_index, rows, added)
        for row, amount in each:
            slot = row, class_index
            naive.more[slot] = naive.more.get(slot, 0) + amount
    elif what == "read all":
        found = view.added(value, np.arange(3))
        assert (found is None) <= (not any(naive.more.values()))
        for row, amount in enumerate(() if found is None else found.tolist()):
            assert amount == naive.more.get((row, value), 0)
    elif what == "ask":
        assert view.refused(value.items()) == naive.refused(value)
    elif what == "limit":
        view.limit(*value)
        naive.limits[value[0]] = value[1]
    elif what == "host":
        row, amounts = value
        view.add_to_host(row, amounts)
        before = naive.on_hosts.get(row, [0, 0, 0])
        naive.on_hosts[row] = [
            one + two for one, two in zip(before, amounts, strict=True)
        ]
    elif what == "mark":
        kept.append((view.mark(), naive.copy()))
    else:
        mark, naive = kept.pop() if len(kept) > 1 else kept[0]
        view.undo(mark)
        return naive.copy()
    return naive


slots = st.sampled_from(SLOTS)
more = st.integers(-20, 20)
pairs = st.lists(st.tuples(slots, st.integers(1, 12)), max_size=9)
steps = st.lists(
    st.tuples(st.just("add"), st.tuples(slots, more))
    | st.tuples(
        st.just("add flat"),
        st.tuples(
            st.integers(0, 1), st.lists(st.tuples(st.integers(0, 2), more), max_size=4)
        ),
    )
    | st.tuples(st.just("read all"), st.integers(0, 1))
    | st.tuples(st.just("ask"), st.dictionaries(slots, st.integers(1, 12)))
    | st.tuples(st.just("limit"), st.tuples(slots, limits))
    | st.tuples(
        st.just("host"), st.tuples(st.integers(0, 2), st.tuples(more, more, more))
    )
    | st.tuples(st.sampled_from(("mark", "undo")), st.none()),
    max_size=20,
)


@given(inventories, used, steps, amounts)
def test_differences_are_what_a_naive_copy_says(
    rows: dict[Slot, InventoryRow],
    taken: dict[Slot, int],
    todo: list[tuple[str, Any]],
    amount: int,
) -> None:
    state = state_of(rows, taken)
    view = View(state)
    naive = Naive({slot: limits_of(row) for slot, row in rows.items()}, taken)
    kept = [(view.mark(), naive.copy())]
    for what, value in todo:
        naive = changed(view, naive, kept, what, value)
        assert {row: [*used] for row, used in view.on_hosts.items()} == naive.on_hosts
        for one in SLOTS:
            assert view.more(one) == naive.more.get(one, 0)
            assert view.refusal(one, amount) == naive.refusal(one, amount)
    view.undo(kept[0][0])
    fresh = View(state)
    assert not view.on_hosts
    for one in SLOTS:
        assert view.refusal(one, amount) == fresh.refusal(one, amount)
        table = state.inventories.slot(*one)
        assert table is None or table[0].used[table[1]] == taken[one]


@given(inventories, used, pairs, amounts)
def test_what_is_added_judges_as_what_is_applied(
    rows: dict[Slot, InventoryRow],
    taken: dict[Slot, int],
    more: list[tuple[Slot, int]],
    amount: int,
) -> None:
    state, applied = state_of(rows, taken), state_of(rows, taken)
    view = View(state)
    for number, (slot, added) in enumerate(more, len(SLOTS) + 1):
        view.add(slot, added)
        apply(applied, allocation(slot, number, added))
    for slot in SLOTS:
        assert view.refusal(slot, amount) == View(applied).refusal(slot, amount)


def test_an_overfull_slot_may_be_emptied_step_by_step() -> None:
    slot = SLOTS[0]
    row = InventoryRow(KEYS[slot], 1, 0, 4, 0, 1, 9, 1, 1.0, None, None)
    view = View(state_of({slot: row}, {slot: 9}))
    assert view.refusal(slot, 1) == Refusal(limits_of(row), 9, is_full=True)
    view.add(slot, -9)
    assert view.refusal(slot, 9) is None
    view.add(slot, 8)
    assert view.refusal(slot, 1) is None
    assert view.refusal(slot, 2) == Refusal(limits_of(row), 8, is_full=True)


def test_a_slot_that_is_named_twice_is_judged_by_its_sum() -> None:
    slot, other = SLOTS[:2]
    row = InventoryRow(KEYS[slot], 1, 0, 4, 0, 1, 9, 1, 1.0, None, None)
    view = View(state_of({slot: row}, {}))
    assert view.refused([(slot, 3)]) is None
    assert view.refused([(slot, 3), (slot, 3)]) == slot
    assert view.refused([(slot, 1), (other, 1)]) == other


def test_what_is_promised_is_taken_from_the_view_alone() -> None:
    """A host with three devices, one of which is promised in the State."""
    state = State()
    host = HostTopology(pools=(Pool(3, None, {"vendor_id": "1", "product_id": "2"}),))
    apply(state, (t.HOSTS, HostRow(1, "h1", "h1", None, "{}", 1, None)))
    known, one = state.fleet.hosts.promises[0], devices(1)
    known.take_report(host)
    known.put(1, one)
    view = View(state)
    assert isinstance(view.fits(0, devices(2)), Fit)
    mark = view.mark()
    view.promise(0, 7, one)
    assert isinstance(view.fits(0, devices(2)), FitLack)
    assert isinstance(view.fits(0, one), Fit)
    again = view.mark()
    view.promise(0, 8, one)
    view.withdraw(0, 1)
    assert isinstance(view.fits(0, devices(2)), FitLack)
    view.undo(again)
    view.withdraw(0, 1)
    assert isinstance(view.fits(0, devices(2)), Fit)
    view.undo(mark)
    assert view.fits(0, devices(2)) == known.fit(devices(2))
    assert isinstance(view.fits(0, devices(3)), FitLack)
    assert [key for key, _ in known.pendings()] == [1], "the State is as it was"


def devices(count: int) -> PromisedTopology:
    asked = DeviceRequest("port", count, ({"vendor_id": "1"},))
    return PromisedTopology(Wanted(devices=(asked,)))


def test_calls_do_not_grow_with_what_was_added() -> None:
    slot = SLOTS[0]
    row = InventoryRow(KEYS[slot], 1, 0, 50, 0, 1, 50, 1, 1.0, None, None)
    state = state_of({slot: row}, {slot: 1})
    view = View(state)

    def tried(count: int) -> None:
        mark = view.mark()
        for number in range(count):
            view.add((number, 0), 1)
        view.undo(mark)

    def found() -> tuple[int, int, int]:
        another = calls(tried, 2) - calls(tried, 1)
        return calls(view.refusal, slot, 1), calls(view.refusal, (9, 9), 1), another

    assert calls(View, state) == calls(lambda: None), "one call makes it"
    few = found()
    for number in range(500):
        view.add((number, 1), 1)
    assert found() == few
    judged, without, added = few
    assert judged <= 12 and without <= 6 and added <= 7, few
