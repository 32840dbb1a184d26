"""The vocabulary: what may be created, renamed and deleted, and the words for no."""

from __future__ import annotations

import pytest

from gantt.errors import Conflict, GanttError, Invalid, NotFound
from gantt.model.answers import Created
from gantt.model.commands import (
    Command,
    CreateResourceClass,
    CreateTrait,
    DeleteInventories,
    DeleteResourceClass,
    DeleteTrait,
    DeleteTraits,
    Inventory,
    PutInventory,
    RenameResourceClass,
    SetTraits,
    SyncNames,
)
from gantt.placement import queries
from tests.placement.desk import HOST, Desk, furnished, put

BAD_TRAIT = (
    "The trait is invalid. A valid trait must be no longer than 255 characters, start "
    'with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
)
CANNOT = "Error in delete resource class: Cannot delete"
LONG = "CUSTOM_" + "A" * 249
BAD_NAMES = ("HW_X", "CUSTOM_", "CUSTOM_a", "CUSTOM_A\n", "XCUSTOM_A", "", LONG)

REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    *((CreateTrait(name), Invalid, BAD_TRAIT) for name in BAD_NAMES),
    (CreateTrait("HW_CPU_X86_AVX"), Invalid, BAD_TRAIT),
    (DeleteTrait("NOPE"), NotFound, "No such trait(s): NOPE."),
    (
        DeleteTrait("HW_CPU_X86_AVX"),
        Invalid,
        "Cannot delete standard trait HW_CPU_X86_AVX.",
    ),
    (
        CreateResourceClass("CUSTOM_FPGA", must_be_new=True),
        Conflict,
        "Conflicting resource class already exists: CUSTOM_FPGA",
    ),
    (
        RenameResourceClass("NOPE", "CUSTOM_X"),
        NotFound,
        "No such resource class NOPE.",
    ),
    (
        RenameResourceClass("VCPU", "CUSTOM_X"),
        Invalid,
        "Cannot update standard resource class VCPU",
    ),
    (
        DeleteResourceClass("NOPE"),
        NotFound,
        "No such resource class NOPE.",
    ),
    (
        DeleteResourceClass("VCPU"),
        Invalid,
        f"{CANNOT} standard resource class VCPU.",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_class_needs_a_custom_name(name: str) -> None:
    desk = furnished()
    desk.refusal(CreateResourceClass(name), Invalid)
    desk.refusal(RenameResourceClass("CUSTOM_FPGA", name), Invalid)


def test_the_longest_name_is_fine() -> None:
    desk = furnished()
    assert desk.do(CreateTrait(LONG[:-1])).is_new
    assert desk.do(CreateResourceClass(LONG[:-1])).is_new


def test_creating_twice_is_fine() -> None:
    desk = furnished()
    first = desk.do(CreateTrait("CUSTOM_NEW"))
    assert first == Created("CUSTOM_NEW", True, desk.now)
    again = desk.do(CreateTrait("CUSTOM_NEW"))
    assert again == Created("CUSTOM_NEW", False, first.created_at)
    first = desk.do(CreateResourceClass("CUSTOM_NEW"))
    assert desk.do(CreateResourceClass("CUSTOM_NEW")).created_at == first.created_at
    assert desk.changes(CreateResourceClass("CUSTOM_NEW")) == 0


def test_custom_classes_are_numbered_from_10_000() -> None:
    desk = Desk()
    desk.do(CreateResourceClass("CUSTOM_A"), SyncNames(("VCPU", "MEMORY_MB"), ()))
    desk.do(CreateResourceClass("CUSTOM_B"))
    found = [(row.id, row.name) for row in desk.state.classes.rows()]
    assert found == [
        (0, "VCPU"),
        (1, "MEMORY_MB"),
        (10_000, "CUSTOM_A"),
        (10_001, "CUSTOM_B"),
    ]


def test_what_is_in_use_stays() -> None:
    desk = furnished()
    desk.do(
        SetTraits(HOST, ("CUSTOM_GOLD",)),
        PutInventory(HOST, "CUSTOM_FPGA", Inventory(1)),
    )
    assert desk.refusal(DeleteTrait("CUSTOM_GOLD"), Conflict) == (
        "The trait CUSTOM_GOLD is in use by a resource provider."
    )
    assert desk.refusal(DeleteResourceClass("CUSTOM_FPGA"), Conflict) == (
        f"{CANNOT} resource class CUSTOM_FPGA. Class is in use in inventory."
    )
    desk.do(DeleteTraits(HOST), DeleteInventories(HOST))
    desk.do(DeleteTrait("CUSTOM_GOLD"), DeleteResourceClass("CUSTOM_FPGA"))
    assert queries.trait(desk.state, "CUSTOM_GOLD") is None
    assert queries.resource_class(desk.state, "CUSTOM_FPGA") is None


def test_a_renamed_class_keeps_inventories_and_allocations() -> None:
    desk = furnished()
    desk.do(
        PutInventory(HOST, "CUSTOM_FPGA", Inventory(4)),
        put("alice", {HOST: {"CUSTOM_FPGA": 3}}),
        RenameResourceClass("CUSTOM_FPGA", "CUSTOM_NIC"),
    )
    usages = queries.usages(desk.state, HOST)
    assert usages is not None
    assert usages.usages == {"VCPU": 0, "MEMORY_MB": 0, "CUSTOM_NIC": 3}
    assert desk.consumer("alice").allocations[HOST].resources == {"CUSTOM_NIC": 3}
    assert usages.generation == 3
    desk.do(CreateResourceClass("CUSTOM_FPGA", must_be_new=True))
    assert desk.refusal(RenameResourceClass("CUSTOM_FPGA", "CUSTOM_NIC"), Conflict) == (
        "Resource class already exists: CUSTOM_NIC"
    )


def test_sync_adds_what_is_missing_and_nothing_twice() -> None:
    desk = furnished()
    more = SyncNames(
        ("VCPU", "MEMORY_MB", "DISK_GB", "PCPU"), ("A_NEW", "HW_CPU_X86_AVX", "A_NEW")
    )
    desk.do(more)
    assert [row.id for row in desk.state.classes.rows()] == [0, 1, 2, 3, 10_000]
    traits = [row.name for row in desk.state.traits.rows()]
    assert sorted(traits) == sorted({*traits, "A_NEW"})
    assert desk.changes(more) == 0
    assert desk.changes(SyncNames((), ())) == 0


def test_sync_never_renames_a_class_that_has_the_number() -> None:
    desk = furnished()
    text = desk.refusal(SyncNames(("VCPU", "PCPU"), ()), Conflict)
    assert "MEMORY_MB" in text
    assert "PCPU" in text
