"""Allocations: what may be had, which generations move, when a consumer lives."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from gantt.errors import (
    ConsumerMoved,
    DoesNotFit,
    GanttError,
    Invalid,
    NotFound,
    UnknownProvider,
    UnknownResourceClass,
)
from gantt.model.commands import (
    Command,
    DeleteAllocations,
    Inventory,
    SetAllocations,
    SetInventories,
)
from gantt.model.names import MAX_INT, MAX_RATIO
from gantt.model.requests import UsageQuery
from gantt.placement import queries
from gantt.placement.usages import total_usages
from tests.placement.desk import (
    ABSENT,
    ALICE,
    BOB,
    CAROL,
    CHILD,
    HOST,
    OTHER,
    Desk,
    claim,
    furnished,
    put,
)

VCPU_HOST = f"'VCPU' on resource provider '{HOST}'"
UNABLE = f"Unable to create allocation for {VCPU_HOST}. The requested amount would"

REFUSALS: list[tuple[Command[object], type[GanttError], str]] = [
    (
        put(ALICE, {ABSENT: {"NOPE": 1}}, generation=7),
        ConsumerMoved,
        "consumer generation conflict - expected null but got 7",
    ),
    (
        put(ALICE, {HOST: {"NOPE": 1}, ABSENT: {"VCPU": 1}}),
        UnknownProvider,
        f"Allocation for resource provider '{ABSENT}' that does not exist.",
    ),
    (
        put(ALICE, {HOST: {"NOPE": 1, "VCPU": 99}}),
        UnknownResourceClass,
        "No such resource class NOPE.",
    ),
    (
        put(ALICE, {HOST: {"DISK_GB": 1}}),
        DoesNotFit,
        f"Inventory for 'DISK_GB' on resource provider '{HOST}' invalid.",
    ),
    (
        put(ALICE, {CHILD: {"VCPU": 1}}),
        DoesNotFit,
        f"Inventory for 'VCPU' on resource provider '{CHILD}' invalid.",
    ),
    (
        DeleteAllocations(ALICE),
        NotFound,
        f"No allocations for consumer '{ALICE}'",
    ),
]


@pytest.mark.parametrize(("command", "kind", "text"), REFUSALS)
def test_refusals(command: Command[object], kind: type[GanttError], text: str) -> None:
    assert furnished().refusal(command, kind) == text


def test_too_much_is_told_with_the_numbers() -> None:
    desk = furnished()
    desk.do(put(BOB, {HOST: {"VCPU": 6}}))
    text = desk.refusal(put(ALICE, {HOST: {"VCPU": 3}}), DoesNotFit)
    assert text.startswith(f"{UNABLE} exceed the capacity.")
    assert text.endswith("Requested: 3, used: 6, capacity: 8.")


UNITS = [
    # (amount, min_unit, max_unit, step_size, fits)
    (1, 2, 8, 1, False),
    (2, 2, 8, 1, True),
    (8, 2, 8, 1, True),
    (9, 2, 8, 1, False),
    (6, 1, 8, 3, True),
    (7, 1, 8, 3, False),
    (4, 8, 2, 1, False),
    (MAX_INT, 1, MAX_INT, 1, True),
    (MAX_INT + 1, 1, MAX_INT, 1, False),
]


@pytest.mark.parametrize(("amount", "least", "most", "step", "fits"), UNITS)
def test_units_are_judged_for_each_allocation(
    amount: int, least: int, most: int, step: int, fits: bool
) -> None:
    desk = furnished()
    stock = Inventory(MAX_INT, 0, least, most, step)
    desk.do(SetInventories(HOST, {"VCPU": stock}))
    wish = put(ALICE, {HOST: {"VCPU": amount}})
    if fits:
        desk.do(wish, put(BOB, {OTHER: {"VCPU": 1}}))
        return
    text = desk.refusal(wish, DoesNotFit)
    assert text.startswith(f"{UNABLE} violate inventory constraints.")


def test_units_do_not_sum_but_capacity_does() -> None:
    """T34: two of 4 with max_unit 4 fit; two of 5 exceed 8 together."""
    desk = furnished()
    desk.do(SetInventories(HOST, {"VCPU": Inventory(8, max_unit=5)}))
    both = [claim(uuid, {HOST: {"VCPU": 4}}) for uuid in (ALICE, BOB)]
    desk.do(SetAllocations(tuple(both)))
    more = [claim(uuid, {HOST: {"VCPU": 5}}) for uuid in (ALICE, BOB)]
    text = desk.refusal(SetAllocations(tuple(more)), DoesNotFit)
    assert text.startswith(f"{UNABLE} exceed the capacity.")


CAPACITIES = [
    # (total, reserved, ratio, amount, fits): floats, neither cut nor rounded
    (10, 0, 1.15, 11, True),
    (10, 0, 1.15, 12, False),
    (100, 0, 1.15, 114, True),
    (100, 0, 1.15, 115, False),
    (5, 0, 0.1, 1, False),
    (10, 9, 2.0, 2, True),
    (10, 9, 2.0, 3, False),
    (10, 10, 16.0, 1, False),
    (8, 0, 0.0, 1, False),
    (1, 0, MAX_RATIO, MAX_INT, True),
]


@pytest.mark.parametrize(("total", "reserved", "ratio", "amount", "fits"), CAPACITIES)
def test_capacity_is_a_float(
    total: int, reserved: int, ratio: float, amount: int, fits: bool
) -> None:
    desk = furnished()
    stock = Inventory(total, reserved, allocation_ratio=ratio)
    desk.do(SetInventories(HOST, {"VCPU": stock}))
    wish = put(ALICE, {HOST: {"VCPU": amount}})
    if fits:
        desk.do(wish)
    else:
        assert "exceed the capacity" in desk.refusal(wish, DoesNotFit)


# -- generations and the life of a consumer ---------------------------------------


def test_a_consumer_lives_from_its_first_to_its_last_allocation() -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}, generation=None))
    assert desk.consumer(ALICE).generation == 1
    again = desk.refusal(
        put(ALICE, {HOST: {"VCPU": 1}}, generation=None), ConsumerMoved
    )
    assert again == "consumer generation conflict - expected 1 but got None"
    desk.do(put(ALICE, {HOST: {"VCPU": 2}}, generation=1))
    assert desk.consumer(ALICE).generation == 2
    desk.do(put(ALICE, {HOST: {"VCPU": 2}}))  # UNSET: before 1.28 none is given
    assert desk.consumer(ALICE).generation == 3
    desk.do(put(ALICE, {}, generation=3))
    assert desk.consumer(ALICE) is None
    assert desk.state.consumers.find(ALICE) is None
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}, generation=None))
    assert desk.consumer(ALICE).generation == 1
    desk.do(DeleteAllocations(ALICE))
    assert desk.state.consumers.find(ALICE) is None


def test_nothing_for_a_new_consumer_leaves_none() -> None:
    """Upstream leaves an empty one that blocks the next write (B1)."""
    desk = furnished()
    for generation in (None, UNSET):
        assert desk.changes(put(ALICE, {}, generation=generation)) == 0
        assert desk.changes(put(ALICE, {HOST: {}}, generation=generation)) == 0
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}, generation=None))


@pytest.mark.parametrize(
    ("failing", "kind"),
    [
        ({ABSENT: {"VCPU": 1}}, UnknownProvider),
        ({HOST: {"NOPE": 1}}, UnknownResourceClass),
        ({HOST: {"VCPU": 99}}, DoesNotFit),
        ({HOST: {"DISK_GB": 1}}, DoesNotFit),
    ],
)
def test_a_failed_write_leaves_no_consumer(
    failing: dict[str, dict[str, int]], kind: type[GanttError]
) -> None:
    """Upstream does after an unknown provider (B2); nor are names left behind."""
    desk = furnished()
    desk.refusal(put(ALICE, failing, generation=None, project_id="new"), kind)
    assert desk.state.projects.find("new") is None
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}, generation=None))


ARITHMETIC = [
    # (wish of ALICE, with 1 VCPU on HOST; steps of HOST, of OTHER)
    ({HOST: {"VCPU": 1}}, 1, 0),
    ({HOST: {"VCPU": 1, "MEMORY_MB": 5}}, 1, 0),
    ({HOST: {"VCPU": 1}, OTHER: {"VCPU": 1}}, 1, 1),
    ({OTHER: {"VCPU": 1}}, 0, 1),  # only the new list counts (B16)
    ({}, 1, 0),
]


@pytest.mark.parametrize(("wish", "host", "other"), ARITHMETIC)
def test_which_provider_generations_move(
    wish: dict[str, dict[str, int]], host: int, other: int
) -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}))
    before = desk.generation(HOST), desk.generation(OTHER)
    desk.do(put(ALICE, wish))
    after = desk.generation(HOST), desk.generation(OTHER)
    assert (after[0] - before[0], after[1] - before[1]) == (host, other)


def test_once_per_request_however_many_consumers() -> None:
    desk = furnished()
    three = [claim(uuid, {HOST: {"VCPU": 1}}) for uuid in (ALICE, BOB, CAROL)]
    desk.do(SetAllocations(tuple(three)))
    assert desk.generation() == 2
    assert {desk.consumer(uuid).generation for uuid in (ALICE, BOB, CAROL)} == {1}
    less = (claim(ALICE, {}), claim(BOB, {}), claim(CAROL, {HOST: {"VCPU": 2}}))
    desk.do(SetAllocations(less))
    assert desk.generation() == 3
    assert desk.consumer(CAROL).generation == 2


def test_deleting_moves_no_generation() -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1}}), DeleteAllocations(ALICE))
    assert desk.generation() == 2


# -- several consumers at once ----------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_gives_up_another_gets_in_the_same_breath(order: int) -> None:
    """T27, whichever of the two is named first."""
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 8}}))
    pair = (claim(ALICE, {}), claim(BOB, {HOST: {"VCPU": 8}}))
    desk.do(SetAllocations(pair[::order]))
    assert desk.consumer(ALICE) is None
    assert desk.consumer(BOB).allocations[HOST].resources == {"VCPU": 8}


def test_all_or_none() -> None:
    """T28: what exceeds only together is refused for both."""
    desk = furnished()
    pair = (claim(ALICE, {HOST: {"VCPU": 5}}), claim(BOB, {HOST: {"VCPU": 5}}))
    desk.refusal(SetAllocations(pair), DoesNotFit)
    assert desk.consumer(ALICE) is None


def test_one_stale_generation_refuses_all() -> None:
    desk = furnished()
    desk.do(put(BOB, {HOST: {"VCPU": 1}}))
    pair = (
        claim(ALICE, {HOST: {"VCPU": 1}}, generation=None),
        claim(BOB, {HOST: {"VCPU": 2}}, generation=2),
    )
    text = desk.refusal(SetAllocations(pair), ConsumerMoved)
    assert text == "consumer generation conflict - expected 1 but got 2"


def test_a_consumer_is_named_once() -> None:
    pair = (claim(ALICE, {HOST: {"VCPU": 1}}), claim(ALICE, {}))
    assert "twice" in furnished().refusal(SetAllocations(pair), Invalid)


def overfull() -> Desk:
    """HOST has 4 VCPU left of 8; ALICE uses 5 and BOB 3."""
    desk = furnished()
    desk.do(
        put(ALICE, {HOST: {"VCPU": 5}}),
        put(BOB, {HOST: {"VCPU": 3}}),
        SetInventories(HOST, {"VCPU": Inventory(4), "MEMORY_MB": Inventory(1)}),
    )
    return desk


def test_an_overfull_provider_may_be_emptied_but_not_filled() -> None:
    desk = overfull()
    desk.refusal(put(ALICE, {HOST: {"VCPU": 6}}), DoesNotFit)
    desk.refusal(put(CAROL, {HOST: {"VCPU": 1}}), DoesNotFit)
    desk.do(put(ALICE, {HOST: {"VCPU": 5}}), put(ALICE, {HOST: {"VCPU": 4}}))
    desk.refusal(put(ALICE, {HOST: {"VCPU": 5}}), DoesNotFit)


def test_an_overfull_provider_may_change_hands() -> None:
    desk = overfull()
    swap = (claim(ALICE, {HOST: {"VCPU": 3}}), claim(BOB, {HOST: {"VCPU": 5}}))
    desk.do(SetAllocations(swap))
    more = (claim(ALICE, {HOST: {"VCPU": 4}}), claim(BOB, {HOST: {"VCPU": 5}}))
    desk.refusal(SetAllocations(more), DoesNotFit)
    desk.do(SetAllocations((claim(ALICE, {}), claim(CAROL, {HOST: {"VCPU": 3}}))))


# -- project, user, type ----------------------------------------------------------


def test_owner_and_type_follow_the_last_write() -> None:
    """T30, T31: a write that does not know of types keeps what is known."""
    desk = furnished()
    same = {HOST: {"VCPU": 1}}

    def owner() -> tuple[str, str, str | None]:
        view = desk.consumer(ALICE)
        return view.project_id, view.user_id, view.consumer_type

    desk.do(put(ALICE, same))
    assert owner() == ("project", "user", None)
    desk.do(put(ALICE, same, project_id="p2", user_id="u2", consumer_type="INSTANCE"))
    assert owner() == ("p2", "u2", "INSTANCE")
    desk.do(put(ALICE, same, project_id="p2", user_id="u2"))
    assert owner() == ("p2", "u2", "INSTANCE")
    desk.do(put(ALICE, same, consumer_type="MIGRATION"))
    assert owner() == ("project", "user", "MIGRATION")
    big = {HOST: {"VCPU": 99}}
    desk.refusal(put(ALICE, big, project_id="p3", consumer_type="X"), DoesNotFit)
    assert owner() == ("project", "user", "MIGRATION")


def test_names_are_made_once_for_all_consumers() -> None:
    desk = furnished()
    pair = [
        claim(uuid, {HOST: {"VCPU": 1}}, consumer_type="X") for uuid in (ALICE, BOB)
    ]
    desk.do(SetAllocations(tuple(pair)))
    assert len(desk.state.projects) == len(desk.state.users) == 1
    usages = total_usages(desk.state, UsageQuery("project", by_type=True))
    assert usages["X"].consumer_count == 2


def test_an_allocation_that_stays_keeps_its_id() -> None:
    desk = furnished()
    desk.do(put(ALICE, {HOST: {"VCPU": 1, "MEMORY_MB": 1}}))
    before = [row.id for row in desk.state.rows("allocations")]  # type: ignore[union-attr]
    desk.do(put(ALICE, {HOST: {"VCPU": 2, "MEMORY_MB": 2}}))
    assert [row.id for row in desk.state.rows("allocations")] == before  # type: ignore[union-attr]
    found = queries.allocations(desk.state, ALICE)
    assert found is not None
    assert found.created_at == desk.now


@pytest.mark.parametrize("amount", [0, -1])
def test_an_amount_is_at_least_one(amount: int) -> None:
    furnished().refusal(put(ALICE, {HOST: {"VCPU": amount}}), Invalid)
