"""Inventories: words, order of checks, generations; shrinking below what is used."""

from __future__ import annotations

import pytest

from gantt.errors import (
    BadInventory,
    ConcurrentUpdate,
    DoesNotFit,
    GanttError,
    Invalid,
    InventoryInUse,
    NoInventory,
    NotFound,
    UnknownResourceClass,
)
from gantt.model.answers import ProviderInventories
from gantt.model.commands import (
    AddInventory,
    Command,
    DeleteInventories,
    DeleteInventory,
    Inventory,
    PutInventory,
    SetInventories,
    SetInventory,
)
from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.placement import queries
from tests.placement.desk import ABSENT, ALICE, BOB, HOST, OTHER, furnished, put

ONE = Inventory(1)
FULL = Inventory(4, reserved=4)
OVER = Inventory(4, reserved=5)
GONE = f"No resource provider with uuid {ABSENT} found"
CONFLICT = "resource provider generation conflict"


def invalid(rc: str, relation: str) -> str:
    return (
        f"Invalid inventory for '{rc}' on resource provider '{HOST}'. "
        f"The reserved value is {relation} total."
    )


def over(rc: str) -> str:
    return invalid(rc, "greater than")


UNKNOWN = "No such resource class NOPE."
REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    (SetInventories(ABSENT, {}), NotFound, GONE),
    (AddInventory(ABSENT, "VCPU", ONE), NotFound, GONE),
    (SetInventory(ABSENT, "VCPU", ONE), NotFound, GONE),
    (PutInventory(ABSENT, "VCPU", ONE), NotFound, GONE),
    (DeleteInventory(ABSENT, "VCPU"), NotFound, GONE),
    (DeleteInventories(ABSENT), NotFound, GONE),
    # The order for the whole set: generation, capacity, class, use.
    (SetInventories(HOST, {"NOPE": OVER}, 0), ConcurrentUpdate, CONFLICT),
    (
        SetInventories(HOST, {"NOPE": OVER}, 1),
        BadInventory,
        invalid("NOPE", "greater than"),
    ),
    (
        SetInventories(HOST, {"NOPE": ONE}),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        SetInventories(HOST, {"VCPU": OVER}),
        BadInventory,
        invalid("VCPU", "greater than"),
    ),
    (
        SetInventories(HOST, {"VCPU": FULL}, allow_full_reserve=False),
        BadInventory,
        invalid("VCPU", "greater than or equal to"),
    ),
    (
        SetInventories(
            HOST, {"VCPU": Inventory(5, allocation_ratio=0.1)}, allow_full_reserve=False
        ),
        BadInventory,
        invalid("VCPU", "greater than or equal to"),
    ),
    (
        SetInventories(HOST, {"VCPU": Inventory(5, allocation_ratio=-1.0)}),
        BadInventory,
        invalid("VCPU", "greater than"),
    ),
    (SetInventory(HOST, "VCPU", ONE, 0), ConcurrentUpdate, CONFLICT),
    (
        SetInventory(HOST, "NOPE", ONE, 1),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        SetInventory(HOST, "DISK_GB", ONE, 1),
        Invalid,
        f"No inventory record with resource class for resource provider {HOST}: "
        "No inventory of class DISK_GB found.",
    ),
    (SetInventory(HOST, "VCPU", OVER), BadInventory, over("VCPU")),
    (
        AddInventory(HOST, "NOPE", ONE),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        AddInventory(HOST, "DISK_GB", OVER),
        BadInventory,
        invalid("DISK_GB", "greater than"),
    ),
    (
        PutInventory(HOST, "NOPE", ONE),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (PutInventory(HOST, "VCPU", OVER), BadInventory, over("VCPU")),
    (
        DeleteInventory(HOST, "DISK_GB"),
        NoInventory,
        "No inventory of class DISK_GB found for delete",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


def test_a_second_inventory_of_a_class_is_an_update_conflict() -> None:
    text = furnished().refusal(AddInventory(HOST, "VCPU", ONE), ConcurrentUpdate)
    assert text.startswith("Update conflict: ")


def test_an_unknown_class_cannot_be_deleted_from_a_provider() -> None:
    assert "NOPE" in furnished().refusal(DeleteInventory(HOST, "NOPE"), NoInventory)


IN_USE = f"Inventory for 'VCPU, MEMORY_MB' on resource provider '{HOST}' in use."


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (SetInventories(HOST, {"DISK_GB": ONE}), IN_USE),
        (DeleteInventories(HOST), IN_USE),
        (DeleteInventory(HOST, "VCPU"), IN_USE.replace(", MEMORY_MB", "")),
    ],
)
def test_what_is_used_is_not_dropped(command: Command[object], text: str) -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1, "MEMORY_MB": 1}}))
    assert desk.refusal(command, InventoryInUse) == text


WRITES: list[tuple[Command[object], set[str]]] = [
    (SetInventories(HOST, {"DISK_GB": ONE}, 1), {"DISK_GB"}),
    (SetInventories(HOST, {}, 1), set()),
    (AddInventory(HOST, "DISK_GB", ONE), {"VCPU", "MEMORY_MB", "DISK_GB"}),
    (SetInventory(HOST, "VCPU", ONE, 1), {"VCPU", "MEMORY_MB"}),
    (PutInventory(HOST, "VCPU", ONE), {"VCPU", "MEMORY_MB"}),
    (PutInventory(HOST, "DISK_GB", ONE), {"VCPU", "MEMORY_MB", "DISK_GB"}),
    (DeleteInventory(HOST, "VCPU"), {"MEMORY_MB"}),
    (DeleteInventories(HOST), set()),
]


@pytest.mark.parametrize(("command", "classes"), WRITES)
def test_each_write_moves_the_generation_by_one(
    command: Command[object], classes: set[str]
) -> None:
    desk = furnished()
    answer = desk.do(command)
    found = queries.inventories(desk.state, HOST)
    assert found is not None
    assert (found.generation, set(found.inventories)) == (2, classes)
    if answer is not None:
        assert answer.generation == 2
        assert answer.modified_at == desk.now


def test_the_same_again_moves_it_too() -> None:
    desk = furnished()
    same = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(1024)}
    assert desk.do(SetInventories(HOST, same)).generation == 2
    assert desk.do(SetInventories(HOST, {})).generation == 3
    desk.do(DeleteInventories(HOST))
    assert desk.generation() == 4


def test_the_answer_echoes_what_was_given() -> None:
    desk = furnished()
    given = Inventory(4.0, allocation_ratio=2)  # type: ignore[arg-type]
    answer = desk.do(SetInventories(HOST, {"VCPU": given}))
    assert answer == ProviderInventories(2, {"VCPU": given}, desk.now)
    found = queries.inventories(desk.state, HOST)
    assert found is not None
    assert str(found.inventories["VCPU"].total) == "4"
    assert str(found.inventories["VCPU"].allocation_ratio) == "2.0"


BOUNDS = [
    {"total": 0},
    {"total": MAX_INT + 1},
    {"reserved": -1},
    {"min_unit": 0},
    {"max_unit": 0},
    {"max_unit": MAX_INT + 1},
    {"step_size": 0},
    {"step_size": 2**70},
    {"allocation_ratio": MAX_RATIO * 10},
    {"allocation_ratio": float("nan")},
    {"allocation_ratio": float("inf")},
]


@pytest.mark.parametrize("bad", BOUNDS)
def test_numbers_that_no_column_holds_are_refused(bad: dict[str, float]) -> None:
    inventory = Inventory(**{"total": 8, **bad})  # type: ignore[arg-type]
    for command in (
        SetInventories(HOST, {"VCPU": inventory}),
        AddInventory(HOST, "DISK_GB", inventory),
        SetInventory(HOST, "VCPU", inventory),
        PutInventory(HOST, "VCPU", inventory),
    ):
        furnished().refusal(command, BadInventory)


def test_the_largest_numbers_are_held() -> None:
    desk = furnished()
    most = Inventory(MAX_INT, 0, 1, MAX_INT, MAX_INT, MAX_RATIO)
    desk.do(SetInventories(OTHER, {"VCPU": most}))
    found = queries.inventories(desk.state, OTHER)
    assert found is not None
    assert found.inventories == {"VCPU": most}
    desk.do(
        put(ALICE, {OTHER: {"VCPU": MAX_INT}}), put(BOB, {OTHER: {"VCPU": MAX_INT}})
    )
    usages = queries.usages(desk.state, OTHER)
    assert usages is not None
    assert usages.usages == {"VCPU": 2 * MAX_INT}


def test_full_reserve_passes_where_it_is_allowed() -> None:
    desk = furnished()
    desk.do(SetInventories(HOST, {"VCPU": FULL}))
    desk.do(SetInventories(HOST, {"VCPU": Inventory(5, allocation_ratio=0.1)}))


def test_shrinking_below_what_is_used_is_allowed() -> None:
    """T22: then the same or less fits again, and more does not."""
    desk = furnished()
    desk.do(
        put(ALICE, {HOST: {"VCPU": 6}}),
        SetInventory(HOST, "VCPU", Inventory(2), 2),
        put(ALICE, {HOST: {"VCPU": 6}}),
        put(ALICE, {HOST: {"VCPU": 5}}),
    )
    desk.refusal(put(ALICE, {HOST: {"VCPU": 6}}), DoesNotFit)
    desk.refusal(put(BOB, {HOST: {"VCPU": 1}}), DoesNotFit)
