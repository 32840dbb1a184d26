"""How many calls a question and a rule cost, whatever else is in the books."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantt.model import commands as c
from gantt.model.changes import Cursor
from gantt.model.requests import Labels, ProviderQuery, UsageQuery
from gantt.placement import queries
from gantt.placement.rules import plan
from gantt.placement.usages import total_usages
from gantt.state.state import State
from tests.work.counting import calls


def fleet(hosts: int, claims: int) -> State:
    """``hosts`` with VCPU and a trait each, ``claims`` of 1 VCPU on the first."""
    state = State()

    def do(command: c.Command[object]) -> None:
        changes = plan(state, command, 1).changes
        state.apply(changes, Cursor(state.revision + 1, "b"))

    do(c.SyncNames(("VCPU", "MEMORY_MB"), ("T",)))
    for number in range(hosts):
        uuid = f"host-{number}"
        do(c.CreateProvider(uuid, uuid))
        do(c.SetInventories(uuid, {"VCPU": c.Inventory(1000 if not number else 4)}))
        do(c.SetTraits(uuid, ("T",)))
        do(c.SetAggregates(uuid, ("a",)))
    for number in range(claims):
        shares = {"host-0": {"VCPU": 1}}
        one = c.ConsumerAllocations(f"c-{number}", shares, "p", "u", None)
        do(c.SetAllocations((one,)))
    return state


@pytest.fixture(scope="module")
def small() -> State:
    return fleet(20, 5)


@pytest.fixture(scope="module")
def large() -> State:
    return fleet(400, 200)


def listed(state: State) -> None:
    query = ProviderQuery(
        resources={"VCPU": 100},
        traits=Labels((frozenset({"T"}),)),
        member_of=Labels((frozenset({"a"}),)),
    )
    (found,) = queries.providers(state, query)
    assert found.uuid == "host-0"


def found_by_name(state: State) -> None:
    (found,) = queries.providers(state, ProviderQuery(name="host-7"))
    assert found.uuid == "host-7"


def summed(state: State) -> None:
    assert total_usages(state, UsageQuery("p"))["all"].usages["VCPU"] >= 5


def planned(*commands: c.Command[object]) -> Callable[[State], None]:
    def decide(state: State) -> None:
        for command in commands:
            assert plan(state, command, 1).changes

    return decide


SHARES = {"host-0": {"VCPU": 1}}
ACTIONS: dict[str, Callable[[State], object]] = {
    "list by resources and labels": listed,
    "list by name": found_by_name,
    "sum of usages": summed,
    "one provider": lambda state: queries.inventories(state, "host-7"),
    "what a consumer has": lambda state: queries.allocations(state, "c-3"),
    "claim": planned(
        c.SetAllocations((c.ConsumerAllocations("new", SHARES, "p", "u", None),))
    ),
    "change a claim": planned(
        c.SetAllocations((c.ConsumerAllocations("c-3", SHARES, "p", "u", 1),))
    ),
    "delete a claim": planned(c.DeleteAllocations("c-3")),
    "inventory": planned(c.SetInventories("host-0", {"VCPU": c.Inventory(2000)})),
    "traits": planned(c.SetTraits("host-7", ())),
    "create": planned(c.CreateProvider("new", "new")),
    "rename": planned(c.UpdateProvider("host-7", "new")),
    "delete": planned(c.DeleteProvider("host-7")),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_work_does_not_grow_with_the_fleet(
    small: State, large: State, name: str
) -> None:
    few, many = calls(ACTIONS[name], small), calls(ACTIONS[name], large)
    assert many <= few + 2, (few, many)


def many_claims(count: int) -> c.Command[object]:
    return c.SetAllocations(
        tuple(
            c.ConsumerAllocations(f"n-{n}", SHARES, f"p-{n}", f"u-{n}", None)
            for n in range(count)
        )
    )


def many_aggregates(count: int) -> c.Command[object]:
    return c.SetAggregates("host-1", tuple(f"a-{n}" for n in range(count)))


def many_moves(count: int) -> c.Command[object]:
    """A reshape that takes a class from ``count`` hosts while claims are written."""
    claims = many_claims(count)
    assert isinstance(claims, c.SetAllocations)
    empty = (c.ReshapedProvider(f"host-{n}", 3, {}) for n in range(1, count + 1))
    return c.Reshape(tuple(empty), claims.consumers)


@pytest.mark.parametrize("make", [many_claims, many_aggregates, many_moves])
def test_work_is_linear_in_the_size_of_a_command(
    large: State, make: Callable[[int], c.Command[object]]
) -> None:
    few, many = (calls(planned(make(count)), large) for count in (20, 200))
    assert many <= 11 * few, (few, many)
