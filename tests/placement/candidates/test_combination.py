"""Trees of one build: walked once, and each with its own providers in the answer."""

from __future__ import annotations

import random

import pytest

from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.combination import Budget, Combination, combine
from gantt.placement.candidates.search import resolve, search
from gantt.placement.candidates.tree import SearchShape, shape_of
from gantt.state.state import State
from gantt.state.view import View
from tests.placement.candidates.worlds import (
    SHARES,
    Node,
    ask,
    group,
    node,
    viable,
    world,
)

TRAIT = "HW_NUMA_ROOT"


def host(name: str, *used: int) -> list[Node]:
    """A host over two NUMA nodes with a port each, of which ``used`` is in use."""
    found = [node(name, DISK_GB=9)]
    for side, port_used in enumerate(used):
        numa = f"{name}-{side}"
        found.append(node(numa, name, VCPU=4, traits=TRAIT if side else ""))
        using = {"SRIOV_NET_VF": port_used} if port_used else None
        found.append(node(f"{numa}-p", numa, SRIOV_NET_VF=2, used=using))
    return found


def fleet(seed: int) -> State:
    """Hosts of a few builds in any order, some with a provider that shares."""
    rng = random.Random(seed)
    nodes = [node("pool", DISK_GB=9, traits=SHARES, aggregates="shared")]
    for number in range(30):
        one = host(f"h{number}", *(rng.randrange(3) for _ in range(2)))
        if rng.random() < 0.3:
            one[0] = node(f"h{number}", aggregates="shared")
        nodes += one
    return world(nodes)


def shape_for(state: State, request: CandidateRequest) -> SearchShape:
    resolved = resolve(state, request)
    assert resolved is not None
    return shape_of(resolved)


def in_one_order(shape: SearchShape, combination: Combination) -> Combination:
    """``combination`` with the providers of needs alike in ascending order."""
    places: dict[object, list[int]] = {}
    needs = [
        (kind, family, mask.tobytes())
        for kind, family, mask in zip(
            shape.kinds,
            shape.families,
            (need.own for need in shape.resolved.needs),
            strict=True,
        )
    ]
    for need, row in zip(needs, combination, strict=True):
        places.setdefault(need, []).append(row)
    ordered = {need: iter(sorted(rows)) for need, rows in places.items()}
    return tuple(next(ordered[need]) for need in needs)


def combinations_of(
    state: State, request: CandidateRequest, *, anew: bool
) -> list[Combination]:
    """Those of all trees, in order; ``anew``: as if there were only one tree."""
    shape = shape_for(state, request)
    found: list[Combination] = []
    for root in viable(state, request):
        if anew:
            shape.walked.clear()
        found += combine(shape, root, Budget())
    return found


PORTS = (group("1", SRIOV_NET_VF=1), group("2", SRIOV_NET_VF=1))
DISK = group(DISK_GB=1)
REQUESTS = [
    ask(DISK, *PORTS),
    ask(DISK, *PORTS, isolate=True),
    ask(DISK, group("1", VCPU=3), group("2", VCPU=2)),
    ask(group(DISK_GB=1, SRIOV_NET_VF=1), group("1", SRIOV_NET_VF=1), isolate=True),
    ask(group(VCPU=1, DISK_GB=1, SRIOV_NET_VF=1, required=TRAIT)),
    ask(DISK, group("1", VCPU=1), *PORTS[1:], same_subtree=("1", "2")),
    ask(group(VCPU=1), nested=False),
    ask(group(VCPU=1, DISK_GB=1), nested=False),
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_is_what_a_walk_finds(
    seed: int, request_: CandidateRequest
) -> None:
    state = fleet(seed)
    combinations = combinations_of(state, request_, anew=False)
    assert combinations
    assert combinations == combinations_of(state, request_, anew=True)
    assert len(set(combinations)) == len(combinations)


ALIKE = [
    *REQUESTS,
    ask(DISK, *(group(str(n), SRIOV_NET_VF=1) for n in range(3))),
    ask(DISK, *(group(str(n), SRIOV_NET_VF=1) for n in range(2)), isolate=True),
    ask(DISK, *(group(str(n), VCPU=2) for n in range(4))),
    ask(
        DISK,
        *(group(f"port-{n}", SRIOV_NET_VF=1) for n in range(2)),
        *(group(f"cpu-{n}", VCPU=1) for n in range(2)),
        same_subtree=("port-1", "cpu-0"),
    ),
    ask(
        DISK,
        *(group(f"port-{n}", SRIOV_NET_VF=1) for n in range(2)),
        group("net-0", SRIOV_NET_VF=1),
        isolate=False,
    ),
]


@pytest.mark.parametrize("request_", ALIKE)
@pytest.mark.parametrize("seed", range(6))
def test_of_answers_that_exchange_needs_alike_there_is_one(
    seed: int, request_: CandidateRequest
) -> None:
    state = fleet(seed)
    resolved = resolve(state, request_)
    assert resolved is not None
    every, fewer = shape_of(resolved), shape_of(resolved, are_alike=True)
    for root in viable(state, request_):
        expected = {in_one_order(fewer, one) for one in combine(every, root, Budget())}
        found = list(combine(fewer, root, Budget()))
        assert len(set(found)) == len(found)
        assert {in_one_order(fewer, one) for one in found} == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize("request_", REQUESTS[:5])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_taken_is_as_good_as_used(
    seed: int, request_: CandidateRequest
) -> None:
    """The same answers, in any order, as where it is used in truth."""
    rng = random.Random(seed)
    free = host("a", 0, 0)
    used = host("a", *(rng.randrange(3) for _ in range(2)))
    state, truth = world(free), world(used)
    shape, expected = shape_for(state, request_), shape_for(truth, request_)
    view, index = View(state), state.classes.index_of("SRIOV_NET_VF")
    assert index is not None
    for row, one in enumerate(used):
        if one.used:
            view.add((row, index), one.used["SRIOV_NET_VF"])
    found = sorted(combine(shape, 0, Budget(), view))
    assert found == sorted(combine(expected, 0, Budget()))


def test_the_second_tree_of_a_build_costs_a_step_for_each_combination() -> None:
    state = world([*host("a", 0, 1), *host("b", 0, 1), *host("c", 0, 2)])
    shape, steps = shape_for(state, REQUESTS[0]), []
    for name in "abc":
        budget, root = Budget(), state.providers.row_of(name)
        assert root is not None
        steps.append((len(list(combine(shape, root, budget))), budget.steps))
    assert steps[0][0] == steps[1][0] == 3
    assert steps[1] == (3, 1 + 3)
    assert steps[0][1] > steps[1][1]
    assert steps[2][0] == 1, "with less left it is another build"


def test_a_tree_left_half_way_is_not_remembered() -> None:
    state = world([*host("a", 0, 0), *host("b", 0, 0)])
    shape = shape_for(state, REQUESTS[0])
    assert next(combine(shape, 0, Budget())) is not None
    assert not shape.walked


def test_what_is_remembered_is_paid_for() -> None:
    state = world([*host("a", 0, 0), *host("b", 0, 0)])
    full = Budget()
    shape = shape_for(state, REQUESTS[0])
    first = list(combine(shape, 0, full))
    answer = search(state, REQUESTS[0], budget=full.steps + 2)
    assert answer.is_truncated
    assert len(answer.candidates) == len(first)
