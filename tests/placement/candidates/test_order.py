"""Order, limits, samples, budgets, names: what a search does besides matching."""

from __future__ import annotations

import random

import pytest

from gantt.errors import BudgetSpent, UnknownName
from gantt.model.answers import Candidates
from gantt.model.commands import (
    CreateProvider,
    DeleteProvider,
    Inventory,
    SetInventories,
)
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.combination import Budget, Spent, combine
from gantt.placement.candidates.search import resolve, search
from gantt.placement.candidates.survey import survey
from gantt.placement.candidates.tree import shape_of
from gantt.state.state import State
from tests.placement.candidates.worlds import (
    SHARES,
    Node,
    ask,
    do,
    group,
    node,
    viable,
    world,
)

FLAT = [node(f"n{number}", VCPU=4) for number in range(20)]


def hosts(count: int, children: int) -> list[Node]:
    """Hosts, each with equal children of one unit."""
    found = []
    for number in range(count):
        found.append(node(f"h{number}", VCPU=8))
        found += [
            node(f"h{number}-{child}", f"h{number}", SRIOV_NET_VF=1)
            for child in range(children)
        ]
    return found


def isolated(count: int, limit: int | None = None) -> CandidateRequest:
    groups = [group(str(n + 1), SRIOV_NET_VF=1) for n in range(count)]
    return ask(*groups, isolate=True, limit=limit)


def used(answer: Candidates) -> list[str]:
    return [" ".join(sorted(c.allocations)) for c in answer.candidates]


def steps_of(state: State, request: CandidateRequest, count: int | None) -> int:
    """How many steps the first ``count`` candidates of the first tree take."""
    resolved, budget = resolve(state, request), Budget()
    assert resolved is not None
    combinations = combine(shape_of(resolved), 0, budget)
    for _ in zip(range(count or 10**9), combinations, strict=False):
        pass
    return budget.steps


def test_oldest_first_and_always_the_same() -> None:
    state = world(FLAT)
    answers = [search(state, ask(group(VCPU=1))) for _ in range(2)]
    assert used(answers[0]) == [n.uuid for n in FLAT]
    assert answers[0] == answers[1]


def test_a_provider_in_a_reused_row_is_still_the_youngest() -> None:
    state = world(FLAT)
    do(state, DeleteProvider("n3"))
    do(state, CreateProvider("late", "late"))
    do(state, SetInventories("late", {"VCPU": Inventory(4)}))
    assert state.providers.row_of("late") == 3
    names = [n.uuid for n in FLAT if n.uuid != "n3"]
    assert used(search(state, ask(group(VCPU=1)))) == [*names, "late"]


def test_limit_trims_summaries_also() -> None:  # T47
    answer = search(world(FLAT), ask(group(VCPU=1), limit=3))
    assert used(answer) == list(answer.summaries) == ["n0", "n1", "n2"]


def test_a_limit_beyond_the_results_changes_nothing() -> None:  # T47
    state = world(FLAT)
    assert search(state, ask(group(VCPU=1), limit=99)) == search(
        state, ask(group(VCPU=1))
    )


@pytest.mark.parametrize(
    ("breadth_first", "roots_used"),
    [(False, ["h0", "h0", "h0", "h1"]), (True, ["h0", "h1", "h0", "h1"])],
)
def test_strategies(breadth_first: bool, roots_used: list[str]) -> None:
    request = ask(
        group(VCPU=1, SRIOV_NET_VF=1), generation_limit=4, breadth_first=breadth_first
    )
    answer = search(world(hosts(2, 3)), request)
    assert [names.split()[0] for names in used(answer)] == roots_used


def test_breadth_first_ends_with_the_last_tree() -> None:
    state = world([*hosts(2, 3), node("alone", VCPU=1, SRIOV_NET_VF=1)])
    wide = ask(group(VCPU=1, SRIOV_NET_VF=1), breadth_first=True)
    deep = ask(group(VCPU=1, SRIOV_NET_VF=1))
    assert sorted(used(search(state, wide))) == sorted(used(search(state, deep)))


def test_a_generation_limit_counts_distinct_results() -> None:
    nodes = [
        node("s", DISK_GB=9, traits=SHARES, aggregates="x"),
        *(node(f"n{n}", DISK_GB=1, aggregates="x") for n in range(3)),
    ]
    request = ask(group(DISK_GB=1), generation_limit=3)
    assert used(search(world(nodes), request)) == ["s", "n0", "n1"]


def test_a_generation_limit_of_nothing_lets_one_through() -> None:
    request = ask(group(VCPU=1), generation_limit=0)
    assert used(search(world(FLAT), request)) == ["n0"]


def test_a_sample_needs_the_wish_and_a_source_of_chance() -> None:
    state = world(FLAT)
    plain, wished = ask(group(VCPU=1)), ask(group(VCPU=1), randomize=True)
    first = used(search(state, plain))
    assert used(search(state, plain, random.Random(1))) == first
    assert used(search(state, wished)) == first
    shuffled = used(search(state, wished, random.Random(1)))
    assert shuffled != first
    assert sorted(shuffled) == sorted(first)


def test_a_sample_is_drawn_from_all() -> None:
    state, rng = world(FLAT), random.Random(1)
    request = ask(group(VCPU=1), randomize=True, limit=2)
    drawn = [used(search(state, request, rng)) for _ in range(60)]
    assert all(len(set(names)) == 2 for names in drawn)
    assert {name for names in drawn for name in names} == {n.uuid for n in FLAT}


def test_a_spent_budget_with_results_truncates() -> None:
    answer = search(world(hosts(3, 8)), isolated(8), budget=500)
    assert answer.is_truncated
    assert answer.candidates
    assert answer.summaries.keys() == {"h0", *(f"h0-{n}" for n in range(8))}


def test_a_spent_budget_without_results_is_refused() -> None:
    with pytest.raises(BudgetSpent, match="stopped after 2 steps"):
        search(world(hosts(3, 8)), isolated(8), budget=2)


def test_a_budget_that_suffices_changes_nothing() -> None:
    state, request = world(hosts(2, 3)), isolated(3)
    assert search(state, request, budget=10_000) == search(state, request)


def test_arrays_cost_no_steps() -> None:
    assert len(search(world(FLAT), ask(group(VCPU=1)), budget=0).candidates) == 20


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (ask(group(NO_SUCH=1)), "No such resource class NO_SUCH."),
        (ask(group(VCPU=1, required="NO_SUCH")), "No such trait(s): NO_SUCH."),
        (ask(group(VCPU=1, forbidden="NO_SUCH")), "No such trait(s): NO_SUCH."),
        (ask(group(NO=1), root_required="NO_ROOT"), "No such trait(s): NO_ROOT."),
        (ask(group(VCPU=1), group("1", NO=1)), "No such resource class NO."),
        (ask(group(NO=1, member_of="nowhere")), "No such resource class NO."),
        (ask(group(VCPU=1, required="NO", in_tree="x")), "No such trait(s): NO."),
    ],
)
def test_unknown_names(request_: CandidateRequest, text: str) -> None:
    for asked in (search, viable):
        with pytest.raises(UnknownName) as caught:
            asked(world(FLAT), request_)
        # A survey of flat providers looks at amounts first.
        assert asked is viable or str(caught.value) == text


@pytest.mark.parametrize(
    "request_",
    [
        ask(group(VCPU=5), group("1", NO=1)),
        ask(group(VCPU=1, required="HW_NUMA_ROOT"), group("1", NO=1)),
        ask(group(VCPU=1, member_of="nowhere", required="NO")),
        ask(group(VCPU=1, in_tree="nobody"), group("1", NO=1)),
        ask(group(NO=1), root_required="HW_NUMA_ROOT"),
    ],
)
def test_names_behind_an_early_end_are_not_looked_at(
    request_: CandidateRequest,
) -> None:
    assert search(world(FLAT), request_) == Candidates((), {})


def test_a_spread_group_ends_early_by_its_traits_taken_together() -> None:
    nodes = [
        node("h", VCPU=1, DISK_GB=1, traits="HW_CPU_X86_AVX"),
        node("g", VCPU=1, DISK_GB=1, traits="HW_CPU_X86_AVX2"),
        node("c", "g"),
    ]
    both = "HW_CPU_X86_AVX HW_CPU_X86_AVX2"
    request = ask(group(VCPU=1, DISK_GB=1, required=both), group("1", NO=1))
    assert search(world(nodes), request) == Candidates((), {})


def test_a_survey_finds_candidates_in_the_tree_asked_for() -> None:
    state = world(hosts(2, 3))
    row = state.providers.row_of("h1")
    assert row is not None

    def at(request: CandidateRequest, row: int, steps: int | None = None) -> list[str]:
        found = survey(state, request, Budget())
        answer = Candidates(tuple(found.candidates(row, Budget(steps))), {})
        return used(answer)

    assert set(at(isolated(3), row)) == {"h1-0 h1-1 h1-2"}
    assert at(isolated(4), row) == []
    assert at(ask(group(VCPU=99)), row) == []
    assert at(isolated(3), row + 1) == [], "no root"
    with pytest.raises(Spent):
        at(isolated(3), row, steps=1)


def test_a_name_is_unknown_though_the_budget_is_spent() -> None:
    request = ask(group(VCPU=1, SRIOV_NET_VF=1), group("1", NO=1))
    with pytest.raises(UnknownName):
        search(world(hosts(2, 2)), request, budget=0)


def test_a_request_for_nothing_finds_nothing() -> None:
    assert search(world(FLAT), ask()) == Candidates((), {})


def test_a_search_for_an_empty_world() -> None:
    assert search(world([]), ask(group(VCPU=1))) == Candidates((), {})
    assert viable(world([]), ask(group(VCPU=1))) == []


# -- work counted in steps, for seconds tell of the machine --------------------------


def test_equal_children_cost_no_factorial_when_nothing_fits() -> None:
    assert steps_of(world(hosts(1, 8)), isolated(9), None) == 1
    shared_pool = [
        *hosts(1, 8),
        node("p", "h0", SRIOV_NET_VF=1, traits="HW_NUMA_ROOT"),
    ]
    demanding = [
        group(str(n), SRIOV_NET_VF=1, required="HW_NUMA_ROOT") for n in range(2)
    ]
    request = ask(*demanding, *isolated(6).groups, isolate=True)
    assert steps_of(world(shared_pool), request, None) == 1


def test_a_dead_end_is_entered_once_for_equal_providers() -> None:
    # The last need (unsuffixed, two units) finds no child with two units left once
    # every child has been given one; which child got which is all the same.
    nodes = [node("h")] + [node(f"c{n}", "h", SRIOV_NET_VF=2) for n in range(8)]
    groups = [group(str(n + 1), SRIOV_NET_VF=1) for n in range(8)]
    request = ask(*groups, group(SRIOV_NET_VF=2), isolate=True)
    assert steps_of(world(nodes), request, None) < 1_000


def test_a_limit_ends_the_walk() -> None:
    state = world(hosts(1, 8))
    assert steps_of(state, isolated(8), 1) <= 1 + 8 * 8, "each child once per group"
    assert steps_of(state, isolated(8), 1000) < 20_000


def test_sixty_four_groups_on_sixty_four_children() -> None:  # T56
    state = world(hosts(2, 64))
    answer = search(state, isolated(64, limit=10), budget=50_000)
    assert len(answer.candidates) == 10
    assert not answer.is_truncated
    assert search(state, isolated(65), budget=50_000) == Candidates((), {})


def test_a_limit_looks_at_no_more_trees_than_needed() -> None:
    state = world(hosts(30, 2))
    answer = search(state, ask(group(VCPU=1, SRIOV_NET_VF=1), limit=4), budget=12)
    assert len(answer.candidates) == 4
    assert not answer.is_truncated
