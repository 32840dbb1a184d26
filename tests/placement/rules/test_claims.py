"""Claims: the first choice that holds, for all instances together or for none."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import ClaimLost, Conflict, Forbidden, GanttError, Invalid
from gantt.model import commands as c
from gantt.model.answers import Claimed
from gantt.model.hosts import Instance, ServerGroup, Service
from gantt.model.rows import CONSUMERS, PROJECTS, PROVIDERS, USERS, ConsumerRow
from gantt.model.spec import InstanceGroup
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    choice,
    claim,
    moving,
    on,
    report,
    server,
    undone,
    uuid_of,
)

AFFINITY = InstanceGroup("g", "affinity")
APART = InstanceGroup("g", "anti-affinity")


def placed(desk: FleetDesk) -> dict[str, int]:
    """Instance -> the host that it is promised."""
    return {row.instance_uuid: row.host_id for row in desk.claims()}


def test_the_first_choice_that_holds_is_taken() -> None:
    desk = FleetDesk(3)
    desk.do(claim("full", on(9, 1, size={"VCPU": 7})))
    answer = desk.do(claim("one", on(1, 1, 2, 3), on(2, 3, 1)))
    assert answer == Claimed("one", (1, 0), None, (1, 1))
    assert placed(desk) == {server(9): 1, server(1): 2, server(2): 3}
    assert desk.used(2) == desk.used(3) == SIZE


def test_a_claim_is_written_as_a_put_would_be() -> None:
    claimed, put = FleetDesk(1), FleetDesk(1)
    claimed.do(claim("one", on(1, 1)))
    consumer = c.ConsumerAllocations(
        server(1), {uuid_of(1): SIZE}, "project", "user", None
    )
    put.do(c.SetAllocations((consumer,)))
    tables = (PROVIDERS, CONSUMERS, PROJECTS, USERS, "allocations")
    assert claimed.books(*tables) == put.books(*tables)
    (row,) = claimed.claims()
    assert (row.vcpus, row.memory_mb, row.disk_mb) == (2, 1024, 10240)
    assert (row.leased_until, row.consumer_generation) == (None, 1)


def test_the_instances_of_a_claim_are_judged_together() -> None:
    desk = FleetDesk(2)
    answer = desk.do(claim("one", *(on(n, 1, 2) for n in range(8))))
    assert answer.taken == (0, 0, 0, 0, 1, 1, 1, 1)
    assert desk.used(1)["VCPU"] == desk.used(2)["VCPU"] == 8
    words = desk.refusal(claim("two", on(20, 1, 2)), ClaimLost)
    assert words == (
        f"Instance {server(20)} cannot be placed: 2 choices were tried, and none is "
        "possible now: the amounts no longer fit (2, first host h1). Nothing was "
        "claimed. Pick hosts again."
    )


def test_a_choice_that_fails_leaves_no_trace() -> None:
    desk = FleetDesk(2)
    # The first has room for VCPU but not for disks: its VCPU must not be counted.
    half = c.Choice(1, {uuid_of(1): {"VCPU": 5, "DISK_GB": 101}})
    one = c.InstanceClaim(server(1), (half, choice(2)))
    assert desk.do(claim("one", one, on(2, 1, size={"VCPU": 8}))).taken == (1, 0)


def test_none_is_claimed_when_one_is_lost() -> None:
    desk = FleetDesk(2)
    desk.do(c.UpdateService(Service("h2", disabled=True)))
    odd = c.Choice(1, {uuid_of(1): {"CUSTOM_GONE": 1}})
    nowhere = c.InstanceClaim(
        server(2),
        (*on(2, 7, 2, 2, 1, size={"VCPU": 9}).choices, odd, c.Choice(1, {"x": SIZE})),
    )
    words = desk.refusal(claim("one", on(1, 1), nowhere), ClaimLost)
    assert "6 choices were tried" in words
    assert "the host no longer exists (1, first host number 7)" in words
    assert "the host is disabled or forced down (2, first host h2)" in words
    assert "the amounts no longer fit (1, first host h1)" in words
    assert "a provider or a resource class no longer exists (2, first host h1)" in words
    assert "there was none" in desk.refusal(claim("two", on(3)), ClaimLost)


REFUSALS: list[tuple[c.Claim, type[GanttError], str]] = [
    (claim("known", on(1, 1)), Conflict, "Claim known already exists"),
    (claim("one", on(1, 1), on(1, 1)), Invalid, "named twice"),
    (claim("one", on(1, 1), vcpus=-1), Invalid, "vcpus must be from 0"),
    (claim("one", on(1, 1), leased_for_us=-5), Invalid, "leased_for_us must be"),
]


@pytest.mark.parametrize(("command", "kind", "words"), REFUSALS)
def test_refusals(command: c.Claim, kind: type[GanttError], words: str) -> None:
    desk = FleetDesk(1)
    desk.do(claim("known", on(9, 1)))
    assert words in desk.refusal(command, kind)


@pytest.mark.parametrize("state", [{"disabled": True}, {"forced_down": True}])
def test_a_host_that_is_off_takes_nothing(state: dict[str, Any]) -> None:
    desk = FleetDesk(1)
    desk.do(c.UpdateService(Service("h1", **state)))
    desk.refusal(claim("one", on(1, 1)), ClaimLost)


def test_a_claim_may_span_a_tree() -> None:
    desk = FleetDesk(1)
    desk.do(
        c.CreateResourceClass("CUSTOM_GPU"),
        c.CreateProvider(uuid_of(50), "gpu", uuid_of(1)),
        c.SetInventories(uuid_of(50), {"CUSTOM_GPU": c.Inventory(1)}),
    )
    both = c.Choice(1, {uuid_of(1): SIZE, uuid_of(50): {"CUSTOM_GPU": 1}})
    one = c.InstanceClaim(server(1), (both,))
    assert undone(desk, claim("one", one))
    desk.do(claim("one", one))
    assert desk.used(50) == {"CUSTOM_GPU": 1} and desk.used(1) == SIZE
    two = c.InstanceClaim(server(2), (both,))
    desk.refusal(claim("two", two), ClaimLost)


# -- without inventory -----------------------------------------------------------------


def bare(number: int, *hosts: int) -> Any:
    return on(number, *hosts, size={})


@pytest.mark.parametrize(
    ("facts", "wish", "fits"),
    [
        ({}, {}, True),
        ({"vcpus_used": 7}, {}, False),
        ({"vcpus_used": 7, "cpu_allocation_ratio": 2.0}, {}, True),
        ({"vcpus_used": 7, "cpu_allocation_ratio": 1.0}, {}, False),
        ({"vcpus_used": 7, "comes_from_nova": True}, {}, True),
        ({"cpu_allocation_ratio": 16.0}, {"vcpus": 9}, False),
        ({"vcpus": 0, "vcpus_used": 7}, {"vcpus": 9}, True),
        ({"free_ram_mb": 1024}, {}, True),
        ({"free_ram_mb": 1023}, {}, False),
        ({"free_ram_mb": -7168, "ram_allocation_ratio": 2.0}, {}, True),
        ({"free_ram_mb": -7169, "ram_allocation_ratio": 2.0}, {}, False),
        ({"ram_allocation_ratio": 16.0}, {"memory_mb": 8193}, False),
        ({"free_disk_gb": 10}, {}, True),
        ({"free_disk_gb": 9}, {}, False),
        ({"disk_available_least": 9}, {}, False),
        ({"free_disk_gb": 9, "disk_allocation_ratio": 1.5}, {}, True),
        ({"disk_allocation_ratio": 9.0}, {"disk_mb": 100 * 1024 + 1}, False),
    ],
)
def test_without_inventory_the_host_decides(
    facts: dict[str, Any], wish: dict[str, Any], fits: bool
) -> None:
    desk = FleetDesk()
    desk.do(report(1, **facts), c.DeleteInventories(uuid_of(1)))
    command = claim("one", bare(1, 1), **wish)
    if fits:
        desk.do(command)
        assert desk.claims()[0].consumer_generation is None
        assert desk.consumer(server(1)) is None
    else:
        desk.refusal(command, ClaimLost)


def test_without_inventory_claims_count() -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", bare(1, 1)))
    answer = desk.do(claim("two", *(bare(n, 1, 2) for n in range(2, 8))))
    assert answer.taken == (0, 0, 0, 1, 1, 1)
    assert desk.host(1).claimed["vcpus"] == 8
    # A new claim gives up what was promised before.
    assert desk.do(claim("three", bare(1, 1))).taken == (0,)
    desk.refusal(claim("four", bare(30, 1)), ClaimLost)


# -- server groups ---------------------------------------------------------------------


def test_affinity_keeps_all_on_one_host() -> None:
    desk = FleetDesk(3)
    answer = desk.do(claim("one", on(1, 2), on(2, 1, 3, 2), group=AFFINITY))
    assert answer.taken == (0, 2)
    words = desk.refusal(claim("two", on(3, 1), group=AFFINITY), ClaimLost)
    assert "the server group no longer allows the host" in words
    known = InstanceGroup("other", "affinity", hosts=frozenset({"h3"}))
    assert desk.do(claim("three", on(4, 1, 3), group=known)).taken == (1,)


def test_anti_affinity_keeps_them_apart() -> None:
    desk = FleetDesk(3)
    everywhere = [on(n, 1, 2, 3) for n in range(4)]
    answer = desk.do(claim("one", *everywhere[:3], group=APART))
    assert answer.taken == (0, 1, 2)
    desk.refusal(claim("two", everywhere[3], group=APART), ClaimLost)
    # Hosts name them: they count on, as members of the group.
    uuids = frozenset(server(n) for n in range(3))
    desk.do(c.SetServerGroup(ServerGroup("g", "g", "anti-affinity", 1, uuids)))
    for number in range(3):
        host = f"h{number + 1}"
        desk.do(c.UpdateInstances(host, (Instance(server(number)),)))
    assert desk.claims() == []
    desk.refusal(claim("two", everywhere[3], group=APART), ClaimLost)
    # An instance that is there may stay there.
    assert desk.do(claim("three", on(1, 1, 2), group=APART)).taken == (1,)


def test_several_per_host() -> None:
    desk = FleetDesk(2)
    two = InstanceGroup("g", "anti-affinity", max_server_per_host=2)
    answer = desk.do(claim("one", *(on(n, 1, 2) for n in range(4)), group=two))
    assert answer.taken == (0, 0, 1, 1)
    desk.refusal(claim("two", on(5, 1, 2), group=two), ClaimLost)


def test_an_instance_that_stays_counts_once_and_a_moving_one_on_both_hosts() -> None:
    desk = FleetDesk(3)
    uuids = frozenset(server(n) for n in range(5))
    two = InstanceGroup("g", "anti-affinity", 2, uuids)
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    assert desk.do(claim("one", on(1, 1), on(2, 1), group=two)).taken == (0, 0)
    desk.refusal(claim("two", on(3, 1), group=two), ClaimLost)
    desk.do(claim("three", on(1, 2), group=two), claim("four", on(4, 2), group=two))
    # Released, the first is where it was: no other took its place.
    desk.refusal(claim("five", on(3, 1, 2), group=two), ClaimLost)
    desk.do(c.ReleaseClaim("three"))
    desk.refusal(claim("five", on(3, 1), group=two), ClaimLost)
    assert desk.do(claim("five", on(3, 2), group=two)).taken == (0,)


@pytest.mark.parametrize("policy", ["soft-affinity", "soft-anti-affinity", None])
def test_soft_rules_forbid_nothing(policy: str | None) -> None:
    desk = FleetDesk(1)
    group = InstanceGroup("g", policy)
    desk.do(claim("one", on(1, 1), on(2, 1), group=group))
    assert desk.state.fleet.claims.of_group("g") == {server(1), server(2)}


# -- instances that have allocations ---------------------------------------------------


def test_a_move_keeps_what_the_instance_has() -> None:
    desk = FleetDesk(2)
    had = {uuid_of(1): {"VCPU": 4, "MEMORY_MB": 99}}
    owner = c.ConsumerAllocations(server(1), had, "their", "own", None, "INSTANCE")
    desk.do(c.SetAllocations((owner,)))
    assert undone(desk, claim("one", on(1, 2)))
    generations = [desk.generation(uuid_of(n)) for n in (1, 2)]
    desk.do(claim("one", on(1, 2)))
    view = desk.consumer(server(1))
    assert {uuid: share.resources for uuid, share in view.allocations.items()} == {
        **had,
        uuid_of(2): SIZE,
    }
    assert (view.generation, view.consumer_type) == (2, "INSTANCE")
    assert (view.project_id, view.user_id) == ("project", "user")
    assert desk.claims()[0].consumer_generation == 2
    after = [desk.generation(uuid_of(n)) for n in (1, 2)]
    assert after == [number + 1 for number in generations]


def test_a_resize_in_place_keeps_the_amount_that_is_there() -> None:
    desk = FleetDesk(1)
    desk.do(claim("one", on(1, 1, size={"VCPU": 7})))
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.do(claim("two", on(1, 1)))
    assert desk.used() == {"VCPU": 7}
    (consumer,) = desk.state.rows(CONSUMERS)
    assert isinstance(consumer, ConsumerRow) and consumer.generation == 2


def test_what_is_kept_is_not_judged_again() -> None:
    desk = FleetDesk(2)
    desk.do(
        claim("one", on(1, 1, size={"VCPU": 7})),
        c.SetInventory(uuid_of(1), "VCPU", c.Inventory(1)),
        moving(claim("two", on(1, 2)), 1),
    )
    assert desk.used(1) == {"VCPU": 7} and desk.used(2) == SIZE


@pytest.mark.parametrize("lease", [None, 1000])
@pytest.mark.parametrize("size", [None, {}])
def test_a_caller_bound_to_a_project_claims_only_its_instances(
    lease: int | None, size: dict[str, int] | None
) -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1, size=size), leased_for_us=lease))
    told = desk.refusal(
        claim("two", on(2, 1), on(1, 2), project_id="mine", only_project="mine"),
        Forbidden,
    )
    assert server(1) in told
    assert "project mine" in told
    # A claim without allocations does not say whose it is.
    again = claim("three", on(1, 2, size=size), only_project="project")
    if size is None:
        desk.do(again)
    else:
        desk.refusal(again, Forbidden)
    assert desk.do(claim("four", on(1, 2), project_id="other")).claim == "four"


def test_a_new_claim_replaces_one_that_is_leased() -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1), leased_for_us=100))
    again = claim("two", on(1, 1, size={"VCPU": 8}))
    assert undone(desk, again)
    desk.do(again)
    assert desk.used(1) == {"VCPU": 8}
    desk.do(claim("three", on(2, 2), leased_for_us=100))
    desk.do(claim("four", on(2, 2, size={})))
    assert desk.used(2) == {} and desk.consumer(server(2)) is None
    assert [row.claim for row in desk.claims()] == ["two", "four"]
