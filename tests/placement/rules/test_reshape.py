"""Reshaping: all at once, its order of checks and its peculiar arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import (
    BadInventory,
    ConcurrentUpdate,
    ConsumerMoved,
    DoesNotFit,
    GanttError,
    Invalid,
    InventoryInUse,
    UnknownProvider,
    UnknownReshaped,
    UnknownResourceClass,
)
from gantt.model.commands import (
    Command,
    ConsumerAllocations,
    Inventory,
    Reshape,
    ReshapedProvider,
)
from gantt.model.names import MAX_INT
from gantt.placement import queries
from tests.placement.desk import (
    ABSENT,
    ALICE,
    BOB,
    CHILD,
    HOST,
    LEAF,
    OTHER,
    Desk,
    claim,
    furnished,
    put,
)

STOCK = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(1024)}


def reshape(*parts: Any) -> Reshape:
    """(uuid, generation, inventories) and consumers in any order."""
    return Reshape(
        tuple(ReshapedProvider(*part) for part in parts if isinstance(part, tuple)),
        tuple(part for part in parts if isinstance(part, ConsumerAllocations)),
    )


REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    (
        reshape((ABSENT, 0, {}), claim(ALICE, {}, generation=9)),
        UnknownReshaped,
        f"Resource provider {ABSENT} in inventories not found: "
        f"No resource provider with uuid {ABSENT} found",
    ),
    (
        reshape((HOST, 5, {"NOPE": Inventory(1)}), claim(ALICE, {}, generation=9)),
        ConcurrentUpdate,
        f"resource provider generation conflict for provider {HOST}: "
        "actual: 1, given: 5",
    ),
    (
        reshape((HOST, 1, {"NOPE": Inventory(1)}), claim(ALICE, {}, generation=9)),
        ConsumerMoved,
        "consumer generation conflict - expected null but got 9",
    ),
    (
        reshape((HOST, 1, {"NOPE": Inventory(1)})),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        reshape((HOST, 1, STOCK), claim(ALICE, {ABSENT: {"VCPU": 1}})),
        UnknownProvider,
        f"Allocation for resource provider '{ABSENT}' that does not exist.",
    ),
    (
        reshape((HOST, 1, STOCK), claim(ALICE, {HOST: {"NOPE": 1}})),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        reshape((HOST, 1, STOCK), claim(ALICE, {HOST: {"DISK_GB": 1}})),
        DoesNotFit,
        f"Inventory for 'DISK_GB' on resource provider '{HOST}' invalid.",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


def occupied() -> Desk:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 6, "MEMORY_MB": 512}}))
    return desk


def test_a_root_hands_inventory_and_allocations_to_its_child() -> None:
    """T38: the old inventory goes, because the allocations go first."""
    desk = occupied()
    desk.do(
        reshape(
            (HOST, 2, {"MEMORY_MB": Inventory(1024)}),
            (CHILD, 0, {"VCPU": Inventory(8)}),
            claim(ALICE, {HOST: {"MEMORY_MB": 512}, CHILD: {"VCPU": 6}}, generation=1),
        )
    )
    host, child = (queries.usages(desk.state, uuid) for uuid in (HOST, CHILD))
    assert host is not None
    assert child is not None
    assert (host.usages, child.usages) == ({"MEMORY_MB": 512}, {"VCPU": 6})
    assert (host.generation, child.generation) == (2 + 3, 0 + 3)
    assert desk.consumer(ALICE).generation == 2


ARITHMETIC: list[tuple[Reshape, dict[str, int]]] = [
    (reshape((OTHER, 1, {"VCPU": Inventory(4)})), {OTHER: 2}),
    (reshape((OTHER, 1, {})), {OTHER: 1}),
    (reshape((LEAF, 0, {})), {LEAF: 1}),
    (
        reshape((OTHER, 1, {"VCPU": Inventory(4)}), claim(BOB, {OTHER: {"VCPU": 1}})),
        {OTHER: 3},
    ),
    (
        reshape((OTHER, 1, {"VCPU": Inventory(4)}), claim(BOB, {HOST: {"VCPU": 1}})),
        {OTHER: 2, HOST: 1},
    ),
    (
        reshape(
            (OTHER, 1, {"VCPU": Inventory(4)}),
            claim(BOB, {OTHER: {"VCPU": 1}, HOST: {"VCPU": 1}}),
            claim(ALICE, {OTHER: {"VCPU": 1}}),
        ),
        {OTHER: 3, HOST: 1},
    ),
]


@pytest.mark.parametrize(("command", "steps"), ARITHMETIC)
def test_generations(command: Reshape, steps: dict[str, int]) -> None:
    desk = occupied()
    before = {uuid: desk.generation(uuid) for uuid in (HOST, CHILD, LEAF, OTHER)}
    desk.do(command)
    for uuid, old in before.items():
        assert desk.generation(uuid) - old == steps.get(uuid, 0)


def test_emptying_a_provider_with_its_allocations_counts_both() -> None:
    desk = occupied()
    desk.do(reshape((HOST, 2, {}), claim(ALICE, {}, generation=1)))
    assert desk.generation() == 4
    assert desk.consumer(ALICE) is None


def test_what_is_still_allocated_is_not_dropped() -> None:
    desk = occupied()
    text = desk.refusal(reshape((HOST, 2, {})), InventoryInUse)
    assert text == (
        f"Inventory for 'VCPU, MEMORY_MB' on resource provider '{HOST}' in use."
    )
    new = claim(BOB, {OTHER: {"VCPU": 1}})
    desk.refusal(reshape((OTHER, 1, {}), new), InventoryInUse)


def test_allocations_are_judged_by_what_will_be() -> None:
    desk = occupied()
    less = {"VCPU": Inventory(4), "MEMORY_MB": Inventory(1024)}
    wish = {HOST: {"VCPU": 6, "MEMORY_MB": 512}}
    # No more than before: an overfull provider is tolerated here as elsewhere.
    desk.do(reshape((HOST, 2, less), claim(ALICE, wish)))
    more = {HOST: {"VCPU": 7, "MEMORY_MB": 512}}
    desk.refusal(reshape((HOST, 5, less), claim(ALICE, more)), DoesNotFit)
    roomy = {"VCPU": Inventory(100), "MEMORY_MB": Inventory(1024)}
    big = {HOST: {"VCPU": 100, "MEMORY_MB": 1}}
    desk.do(reshape((HOST, 5, roomy), claim(ALICE, big)))


def test_reserved_is_not_held_against_total() -> None:
    """As upstream (B8)."""
    desk = furnished()
    desk.do(reshape((OTHER, 1, {"VCPU": Inventory(4, reserved=9)})))
    found = queries.inventories(desk.state, OTHER)
    assert found is not None
    assert found.inventories["VCPU"].reserved == 9


@pytest.mark.parametrize(
    "bad",
    [
        Inventory(0),
        Inventory(MAX_INT + 1),
        Inventory(2**70),
        Inventory(8, step_size=0),
        Inventory(8, allocation_ratio=float("nan")),
    ],
)
def test_numbers_that_no_column_holds_are_refused(bad: Inventory) -> None:
    """The library's callers come without a schema."""
    furnished().refusal(reshape((OTHER, 1, {"VCPU": bad})), BadInventory)


def test_a_provider_is_named_once() -> None:
    desk = furnished()
    one, two = {"VCPU": Inventory(4)}, {"DISK_GB": Inventory(4)}
    text = desk.refusal(reshape((LEAF, 0, one), (LEAF, 0, two)), Invalid)
    assert "twice" in text


def test_all_or_nothing() -> None:
    """T37: consumers' owners too."""
    desk = occupied()
    desk.refusal(
        reshape(
            (CHILD, 0, {"VCPU": Inventory(4)}),
            claim(ALICE, {HOST: {"VCPU": 1}}, generation=1, project_id="other"),
            claim(BOB, {CHILD: {"VCPU": 5}}, generation=None),
        ),
        DoesNotFit,
    )
    assert desk.consumer(ALICE).project_id == "project"
