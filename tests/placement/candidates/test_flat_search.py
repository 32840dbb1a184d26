"""The shortcut for flat fleets: when it is taken, and that it changes no answer."""

from __future__ import annotations

import pytest

from gantt.model.commands import (
    CreateProvider,
    DeleteProvider,
    Inventory,
    SetInventories,
)
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates import flat_search
from tests.placement.candidates.worlds import SHARES, Node, ask, do, group, node, world

AVX = "HW_CPU_X86_AVX"
FLEET = [
    node(
        f"n{number}",
        VCPU=Inventory(8, max_unit=6),
        traits=AVX if number % 2 else "",
        aggregates="east" if number % 3 else "west",
        used={"VCPU": 1},
    )
    for number in range(30)
]


def first(nodes: list[Node], request: CandidateRequest, count: int) -> list[str] | None:
    state = world(nodes)
    found = flat_search.first(state, request, count, small=0)
    return None if found is None else [state.providers.uuids[row] for row in found[1]]


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        (ask(group(VCPU=1)), ["n0", "n1"]),
        (ask(group(VCPU=1, required=AVX)), ["n1", "n3"]),
        (ask(group(VCPU=1, forbidden=AVX)), ["n0", "n2"]),
        (ask(group(VCPU=1), root_required=AVX), ["n1", "n3"]),
        (ask(group("1", VCPU=1, member_of="west|nowhere")), ["n0", "n3"]),
        (ask(group(VCPU=1, not_member_of="west", required=AVX)), ["n1", "n5"]),
        (ask(group("1", VCPU=3), group("2", VCPU=3)), ["n0", "n1"]),
    ],
)
def test_the_oldest_that_match(request_: CandidateRequest, names: list[str]) -> None:
    assert first(FLEET, request_, 2) == names


@pytest.mark.parametrize(
    "request_",
    [
        ask(group(VCPU=7)),
        ask(group("1", VCPU=3), group("2", VCPU=4)),
        ask(group(DISK_GB=1)),
        ask(group(VCPU=10**30)),
        ask(group(VCPU=1, member_of="nowhere")),
        ask(group(VCPU=1, in_tree="n1")),
        ask(group(NO=1)),
        ask(group(VCPU=1, required="NO")),
        ask(group("1", VCPU=1), group("2", VCPU=1), isolate=True),
        ask(group("1", VCPU=1), group("2", required=AVX), same_subtree=["1 2"]),
    ],
)
def test_what_is_left_to_the_whole_search(request_: CandidateRequest) -> None:
    assert first(FLEET, request_, 2) is None


@pytest.mark.parametrize(
    "odd", [node("child", "n0"), node("disk", traits=SHARES, DISK_GB=1)]
)
def test_a_fleet_that_is_not_flat(odd: Node) -> None:
    assert first([*FLEET, odd], ask(group(VCPU=1)), 2) is None


def test_a_gap_is_no_disorder_but_a_row_used_again_is() -> None:
    state = world(FLEET)
    assert flat_search.is_flat(state)
    do(state, CreateProvider("gone", "gone"))
    do(state, CreateProvider("last", "last"))
    do(state, DeleteProvider("gone"))
    assert flat_search.is_flat(state)
    do(state, CreateProvider("late", "late"))
    do(state, SetInventories("late", {"VCPU": Inventory(8)}))
    assert not flat_search.is_flat(state)


def test_no_more_than_some_windows_are_looked_at() -> None:
    nodes = [node(f"n{number}", VCPU=1) for number in range(40)]
    nodes.append(node("big", VCPU=2))
    assert first(nodes, ask(group(VCPU=2)), 1) is None
    assert first(nodes[-3:], ask(group(VCPU=2)), 1) == ["big"]


def test_small_fleets_and_large_limits_gain_nothing() -> None:
    state = world(FLEET)
    assert flat_search.first(state, ask(group(VCPU=1)), 2) is None
    assert (
        flat_search.first(
            state, ask(group(VCPU=1)), flat_search.LARGE_LIMIT + 1, small=0
        )
        is None
    )
