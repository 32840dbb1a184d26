"""Every invariant of check.py can fail: each is broken on purpose once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.changes import Change, Cursor
from gantt.model.rows import LinkRow, NameRow, key_of
from gantt.state import check
from gantt.state.column import NO_ROW
from gantt.state.inventory_columns import ClassTable
from gantt.state.state import State
from tests.state.books import ROWS, filled

Break = Callable[[State], object]


def vcpu(state: State) -> ClassTable:
    table = state.inventories.table(0)
    assert table is not None
    return table


def column(table: object, name: str, row: int, value: float) -> None:
    getattr(table, name)[row] = value


def put_name(state: State, row: int, name: str) -> None:
    state.providers.names[row] = name


def put_uuid(state: State, row: int, uuid: str) -> None:
    state.providers.uuids[row] = uuid


def unlink(state: State) -> None:
    state.allocations.by_provider.remove(0, 0)


def misplace(state: State) -> None:
    """Row 1 belongs to provider 3, and now also to provider 0."""
    chain = state.allocations.by_provider
    chain.remove(3, 1)
    chain.add(0, 1)


def forget_who_bears(state: State) -> None:
    """The labels of a provider stay behind."""
    state.provider_traits.set(2, 0, True)
    state.providers.remove(3)


BREAKS: dict[str, tuple[Break, str]] = {
    "uuid index": (
        lambda s: put_uuid(s, 0, "else"),
        "provider else: uuid leads to row None",
    ),
    "name index": (lambda s: put_name(s, 0, "else"), "name 'else' leads elsewhere"),
    "root of a root": (
        lambda s: column(s.providers, "root", 3, 0),
        "provider other: no parent, yet its root is row 0",
    ),
    "root of a child": (
        lambda s: column(s.providers, "root", 2, 3),
        "provider grandchild: its root is not its parent's",
    ),
    "children": (
        lambda s: s.providers.forest.detach(2, 1),
        "provider grandchild: not among its parent's children",
    ),
    "a cycle": (
        lambda s: s.providers.forest.detach(1, 0),
        "provider child: not within its own tree",
    ),
    "a child of two": (
        lambda s: s.providers.forest.attach(2, 3),
        "provider other: counts grandchild among its children",
    ),
    "inventory without a provider": (
        lambda s: column(s.providers, "is_live", 3, False),
        "inventory 2 (VCPU): its provider is gone",
    ),
    "slot index": (
        lambda s: vcpu(s).slot_of.update({0: 1}),
        "inventory 1 (VCPU): its provider leads to another slot",
    ),
    "classes of a provider": (
        lambda s: s.inventories._classes_of.update({0: (0,)}),
        "inventory 3 (CUSTOM_A): not among its provider's classes",
    ),
    "id of a slot": (
        lambda s: column(vcpu(s), "id", 0, 77),
        "inventory 1 (VCPU): its id leads to the slot of 77",
    ),
    "capacity": (
        lambda s: column(vcpu(s), "capacity", 0, 15.0),
        "inventory 1 (VCPU): capacity 15.0, not 16.0",
    ),
    "used": (
        lambda s: column(vcpu(s), "used", 0, 8),
        "inventory 1 (VCPU): used 8, allocations sum to 7",
    ),
    "allocation id": (
        lambda s: column(s.allocations, "id", 0, 2),
        "allocation 2: its id leads to another row",
    ),
    "allocation without a provider": (
        lambda s: column(s.providers, "is_live", 3, False),
        "allocation 2: its provider is gone",
    ),
    "allocation without a consumer": (
        lambda s: column(s.consumers, "is_live", 1, False),
        "allocation 3: its consumer is gone",
    ),
    "allocation of nothing": (
        lambda s: column(s.allocations, "class_index", 0, 9),
        "allocation 1: its class is gone",
    ),
    "allocated twice": (
        lambda s: s.apply(
            [
                Change(
                    t.ALLOCATIONS,
                    9,
                    None,
                    t.AllocationRow(9, 1, "alice", 0, 1, None, None),
                )
            ],
            Cursor(2, "b"),
        ),
        "allocation 9: there is another of the same provider, consumer and class",
    ),
    "a chain that misses one": (
        unlink,
        "chains by provider: 2 rows reached, 3 live",
    ),
    "a chain that has another's": (
        misplace,
        "chain of provider 0: row 1 is another's",
    ),
    "consumer uuid": (
        lambda s: s.consumers.row_by_uuid.update({"alice": 1}),
        "consumer alice: uuid leads to another row",
    ),
    "a consumer of nothing": (
        lambda s: s.consumers.ensure("ghost"),
        "consumer ghost: neither a record nor allocations",
    ),
    "project": (lambda s: s.projects.remove(1), "consumer alice: no project 1"),
    "user": (lambda s: s.users.remove(1), "consumer alice: no user 1"),
    "consumer type": (
        lambda s: s.consumer_types.remove(1),
        "consumer alice: no consumer type 1",
    ),
    "labels without a provider": (
        forget_who_bears,
        "row 2: no provider, yet it bears a trait",
    ),
    "labels that are none": (
        lambda s: s.provider_aggregates.set(0, 5, True),
        "row 0: bears a label that is no aggregate",
    ),
}


def test_the_sample_is_sound() -> None:
    assert check.problems(filled()) == []


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_invariant_is_found(name: str) -> None:
    breaking, message = BREAKS[name]
    state = filled()
    breaking(state)
    assert any(message in problem for problem in check.problems(state)), check.problems(
        state
    )


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_row_too_few_or_too_many_is_a_difference(number: int) -> None:
    table, row = ROWS[number]
    if table in (t.PROVIDERS, t.CONSUMERS, t.PROJECTS, t.USERS, t.CONSUMER_TYPES):
        return  # others hang on it; see the next test
    left, right = filled(), filled()
    if table in (t.RESOURCE_CLASSES, t.TRAITS, t.AGGREGATES):
        row = NameRow(55, "CUSTOM_MORE", None, None)
        right.apply([Change(table, 55, None, row)], Cursor(2, "b"))
        left, right = right, left
    else:
        right.apply([Change(table, key_of(row), row, None)], Cursor(2, "b"))
    (found,) = (one for one in check.differences(left, right) if table in one)
    assert found.startswith(f"{table} ")
    assert found.endswith("!= None")


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_changed_row_is_a_difference(number: int) -> None:
    table, row = ROWS[number]
    if isinstance(row, LinkRow):
        return  # nothing in it but its key
    changed = replace(row, created_at=99)
    state = filled()
    state.apply([Change(table, key_of(row), row, changed)], Cursor(2, "b"))
    (found,) = check.differences(filled(), state)
    assert found == f"{table} {(key_of(row),)}: {row} != {changed}"


def test_differences_are_limited() -> None:
    assert len(check.differences(filled(), State(), limit=5)) == 5
    assert len(check.differences(filled(), State())) == len(ROWS)


def test_no_row_is_minus_one() -> None:
    """What 'no parent' is in the columns, so that the breaks above are breaks."""
    assert filled().providers.parent[:4].tolist() == [NO_ROW, 0, 1, NO_ROW]
