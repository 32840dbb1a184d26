"""How claims end: confirmed, released, expired, or overtaken by other writes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimExpired, Conflict, NotFound
from gantt.model import commands as c
from gantt.model.changes import Change
from gantt.model.hosts import HostStats, Instance
from gantt.model.rows import CONSUMERS, NO_HOST, ConsumerRow
from gantt.placement import queries
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    on,
    report,
    server,
    undone,
    uuid_of,
)


def leased(*instances: Any, name: str = "one", us: int = 50) -> c.Claim:
    return claim(name, *instances, leased_for_us=us)


def rewritten(desk: FleetDesk, instance: int) -> None:
    """Another program changed the allocations of the instance in the tables."""
    (consumer,) = (
        row
        for row in desk.state.rows(CONSUMERS)
        if isinstance(row, ConsumerRow) and row.uuid == server(instance)
    )
    changed = replace(consumer, generation=9)
    change = Change(CONSUMERS, consumer.id, consumer, changed)
    desk.state.apply([change], desk.state.cursor)


def put(instance: int, *hosts: int, **more: Any) -> c.SetAllocations:
    wish = {"project_id": "project", "user_id": "user", **more}
    allocations = {uuid_of(host): dict(SIZE) for host in hosts}
    one = c.ConsumerAllocations(server(instance), allocations, **wish)
    return c.SetAllocations((one,))


def test_a_lease_ends_when_it_is_confirmed() -> None:
    desk = FleetDesk(2)
    answer = desk.do(leased(on(1, 1), on(2, 2)))
    assert answer.leased_until == desk.now + 50
    desk.do(c.ConfirmClaim("one"))
    assert [row.leased_until for row in desk.claims()] == [None, None]
    assert desk.changes(c.ConfirmClaim("one")) == 0
    desk.now += 1000
    assert desk.do(c.ExpireClaims()) == 0
    assert desk.used(1) == SIZE


def test_confirming_succeeds_until_the_lease_is_swept() -> None:
    desk = FleetDesk(1)
    desk.do(leased(on(1, 1)))
    desk.now += 1000
    desk.do(c.ConfirmClaim("one"))
    assert desk.do(c.ExpireClaims()) == 0


@pytest.mark.parametrize("end", [c.ExpireClaims(), c.ReleaseClaim("one")])
def test_a_lease_that_ended_cannot_be_confirmed(end: c.Command[object]) -> None:
    desk = FleetDesk(1)
    desk.do(leased(on(1, 1)))
    desk.now += 1000
    desk.do(end)
    words = desk.refusal(c.ConfirmClaim("one"), ClaimExpired)
    assert "lease expired" in words and "never existed" in words
    assert "nothing to release" in desk.refusal(c.ReleaseClaim("one"), NotFound)
    assert desk.used() == {} and desk.consumer(server(1)) is None


def test_leases_are_swept_in_order_with_grace_and_limit() -> None:
    desk = FleetDesk(1)
    desk.do(
        leased(on(1, 1), name="late", us=500),
        leased(on(2, 1), name="first", us=10),
        leased(on(3, 1), name="second", us=20),
        claim("kept", on(4, 1)),
    )
    desk.now += 100
    assert desk.changes(c.ExpireClaims(grace_us=200)) == 0
    assert undone(desk, c.ExpireClaims())
    assert desk.do(c.ExpireClaims(limit=1)) == 1
    assert {row.claim for row in desk.claims()} == {"late", "second", "kept"}
    assert desk.do(c.ExpireClaims()) == 1
    assert desk.do(c.ExpireClaims()) == 0
    assert desk.used()["VCPU"] == 4


def test_a_lease_ends_no_earlier_than_it_says() -> None:
    desk = FleetDesk(1)
    until = desk.do(leased(on(1, 1), us=10)).leased_until
    desk.now = until - 2
    assert desk.do(c.ExpireClaims()) == 0
    assert desk.do(c.ExpireClaims()) == 1


@pytest.mark.parametrize("is_leased", [True, False])
def test_claim_then_release_leaves_the_books_as_before(is_leased: bool) -> None:
    desk = FleetDesk(2)
    command = claim("one", on(1, 1), on(2, 2), leased_for_us=9 if is_leased else None)
    tables = ("allocations", "consumers", "gantt_bookings", "inventories")
    desk.do(claim("other", on(7, 1)))
    before = desk.books(*tables)
    desk.do(command)
    generation = desk.generation(uuid_of(1))
    assert undone(desk, c.ReleaseClaim("one"))
    desk.do(c.ReleaseClaim("one"))
    assert desk.books(*tables) == before
    assert desk.generation(uuid_of(1)) == generation


def test_a_release_takes_back_what_a_move_added_and_no_more() -> None:
    desk = FleetDesk(2)
    desk.do(put(1, 1), leased(on(1, 2)))
    assert desk.used(1) == desk.used(2) == SIZE
    assert undone(desk, c.ReleaseClaim("one"))
    desk.do(c.ReleaseClaim("one"))
    assert desk.used(1) == SIZE and desk.used(2) == {}
    view = desk.consumer(server(1))
    assert view.generation == 3
    # Moved and released again: still what was there before.
    desk.do(leased(on(1, 2)), c.ReleaseClaim("one"))
    assert desk.used(1) == SIZE and desk.used(2) == {}
    # A plain PUT makes all of them like new ones, and a new claim marks them again.
    desk.do(put(1, 1), leased(on(1, 1)), c.ReleaseClaim("one"))
    assert desk.used(1) == SIZE


def test_a_replaced_lease_of_a_move_leaves_nothing_behind() -> None:
    desk = FleetDesk(3)
    desk.do(put(1, 1), leased(on(1, 2)), leased(on(1, 3), name="two"))
    assert [desk.used(n) for n in (1, 2, 3)] == [SIZE, {}, SIZE]
    desk.now += 1000
    assert desk.do(c.ExpireClaims()) == 1
    assert [desk.used(n) for n in (1, 2, 3)] == [SIZE, {}, {}]


# -- other writers ---------------------------------------------------------------------


def test_a_write_that_stays_on_the_host_ends_the_lease_alone() -> None:
    desk = FleetDesk(2)
    desk.do(leased(on(1, 1), on(2, 2)), put(1, 1, 2))
    assert [row.leased_until is None for row in desk.claims()] == [True, False]
    desk.now += 1000
    assert desk.do(c.ExpireClaims()) == 1
    # The other instance's lease ended; the written one is its writer's.
    assert [row.instance_uuid for row in desk.claims()] == [server(1)]
    assert desk.used(1) == desk.used(2) == SIZE
    assert desk.refusal(c.ReleaseClaim("one"), Conflict) == (
        "Claim one cannot be released: the allocations of 1 of its instances were "
        f"changed by another writer since, and would stay ({server(1)} has 2 VCPU on "
        "n1, 1024 MEMORY_MB on n1, 10 DISK_GB on n1, 2 VCPU on n2, 1024 MEMORY_MB on "
        "n2, 10 DISK_GB on n2). Nothing was released. Delete the allocations of these "
        "instances, which ends their part of the claim; then release what is left."
    )
    desk.do(c.DeleteAllocations(server(1)))
    assert desk.claims() == [] and desk.used(1) == {}


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kept", [False, True])
def test_what_is_written_again_as_it_was_stays_the_claims(
    kept: bool, times: int
) -> None:
    """Its lease ends, and its release frees it; not what the instance had before."""
    desk = FleetDesk(2)
    before: dict[str, int] = SIZE if kept else {}
    if kept:
        desk.do(put(1, 2))
    desk.do(leased(on(1, 1)))
    again = put(1, *((2, 1) if kept else (1,)), user_id="another")
    for _ in range(times):
        assert undone(desk, again)
        desk.do(again)
    assert (desk.used(1), desk.used(2)) == (SIZE, before)
    desk.now += 1000
    assert desk.do(c.ExpireClaims()) == 1
    assert (desk.used(1), desk.used(2)) == ({}, before)
    desk.do(claim("two", on(1, 1)), again, c.ReleaseClaim("two"))
    assert (desk.used(1), desk.used(2)) == ({}, before)


def test_a_lease_that_cannot_end_stays_and_blocks_no_other() -> None:
    """A program that does not know of claims wrote to the tables."""
    desk = FleetDesk(1)
    desk.do(leased(on(1, 1)), claim("two", on(2, 1), leased_for_us=60))
    rewritten(desk, 1)
    desk.now += 1000
    assert desk.do(c.ExpireClaims(limit=1)) == 0
    assert desk.do(c.ExpireClaims(limit=1)) == 1
    assert [row.claim for row in desk.claims()] == ["one"]
    assert desk.used(1) == SIZE
    desk.refusal(c.ReleaseClaim("one"), Conflict)


@pytest.mark.parametrize("write", [put(1, 2), put(1), c.DeleteAllocations(server(1))])
def test_a_write_that_leaves_the_host_ends_the_claim(write: c.Command[object]) -> None:
    desk = FleetDesk(2)
    desk.do(leased(on(1, 1)))
    assert undone(desk, write)
    desk.do(write)
    assert desk.claims() == []
    assert desk.host(1).claimed["instances"] == 0


def test_a_child_of_the_host_is_still_the_host() -> None:
    desk = FleetDesk(1)
    desk.do(
        c.CreateProvider(uuid_of(50), "numa", uuid_of(1)),
        c.SetInventories(uuid_of(50), {"VCPU": c.Inventory(8)}),
        leased(on(1, 1)),
    )
    allocations = {uuid_of(50): {"VCPU": 2}}
    moved = c.ConsumerAllocations(server(1), allocations, "project", "user")
    desk.do(c.SetAllocations((moved,)))
    assert [row.leased_until for row in desk.claims()] == [None]


@pytest.mark.parametrize("end", ["release", "expire"])
@pytest.mark.parametrize("kept", [False, True])
def test_a_reshape_takes_claims_and_leases_along(kept: bool, end: str) -> None:
    desk = FleetDesk(2)
    if kept:
        desk.do(put(1, 2))
    desk.do(
        c.CreateProvider(uuid_of(50), "numa", uuid_of(1)),
        leased(on(1, 1, size={"VCPU": 2}), on(2, 1)),
    )
    stays = {uuid_of(2): SIZE} if kept else {}
    found = queries.inventories(desk.state, uuid_of(1))
    assert found is not None
    stock = {name: one for name, one in found.inventories.items() if name != "VCPU"}
    vcpu = found.inventories["VCPU"]
    amounts = {"MEMORY_MB": 1024, "DISK_GB": 10}
    moved = (
        c.ConsumerAllocations(
            server(1), {uuid_of(50): {"VCPU": 2}, **stays}, "p", "u", 1 + kept
        ),
        c.ConsumerAllocations(
            server(2), {uuid_of(50): {"VCPU": 2}, uuid_of(1): amounts}, "p", "u", 1
        ),
    )
    desk.do(
        c.Reshape(
            (
                c.ReshapedProvider(uuid_of(1), found.generation, stock),
                c.ReshapedProvider(uuid_of(50), 0, {"VCPU": vcpu}),
            ),
            moved,
        )
    )
    assert all(row.leased_until is not None for row in desk.claims())
    assert desk.used(50) == {"VCPU": 4}
    desk.now += 1000
    desk.do(c.ReleaseClaim("one") if end == "release" else c.ExpireClaims())
    assert (desk.used(50), desk.used(1)) == ({}, {})
    assert desk.used(2) == (SIZE if kept else {}) and not desk.claims()
    # What was moved away from a host's provider does not come back with its report.
    desk.do(c.UpdateHost("h1", "n1", HostStats(vcpus=99), uuid_of(1)))
    assert "VCPU" not in desk.inventories()


def test_without_a_provider_it_cannot_be_told_where_a_consumer_went() -> None:
    desk = FleetDesk(2)
    desk.do(
        claim("one", on(1, 1, size={}), leased_for_us=50),
        c.DeleteProvider(uuid_of(1)),
        put(1, 2),
    )
    assert [row.leased_until for row in desk.claims()] == [None]


def test_a_lease_without_inventory_expires() -> None:
    desk = FleetDesk(1)
    desk.do(claim("one", on(1, 1, size={}), leased_for_us=5))
    desk.now += 10
    assert desk.do(c.ExpireClaims()) == 1
    assert desk.host().claimed["instances"] == 0


def test_a_lease_whose_host_names_the_instance_holds_for_good() -> None:
    desk = FleetDesk(1)
    desk.do(leased(on(1, 1)), c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.now += 1000
    assert desk.do(c.ExpireClaims()) == 0
    assert desk.used() == SIZE
    assert "reported all" in desk.refusal(c.ConfirmClaim("one"), ClaimExpired)


def bereft(*instances: Any) -> FleetDesk:
    """Two hosts with a confirmed claim on both; the first host is deleted since."""
    desk = FleetDesk(3)
    desk.do(leased(*(instances or (on(1, 1), on(2, 2)))), c.ConfirmClaim("one"))
    assert undone(desk, c.DeleteHost("h1", "n1"))
    desk.do(c.DeleteHost("h1", "n1"))
    return desk


def test_a_release_gives_back_also_what_was_on_a_host_that_is_gone() -> None:
    desk = bereft()
    assert desk.used(1) == desk.used(2) == SIZE
    # A host that gets the number of the one that is gone has nothing of it.
    assert {row.host_id for row in desk.claims()} == {NO_HOST, 2}
    desk.do(report(1))
    assert desk.host(1).claimed["instances"] == 0
    desk.do(c.ConfirmClaim("one"))
    assert undone(desk, c.ReleaseClaim("one"))
    desk.do(c.ReleaseClaim("one"))
    assert desk.used(1) == desk.used(2) == {}
    assert desk.consumer(server(1)) is desk.consumer(server(2)) is None
    assert desk.claims() == []


@pytest.mark.parametrize(
    "end",
    [
        put(1, 1, 3, generation=1),
        put(1, 3, generation=1),
        c.DeleteAllocations(server(1)),
        c.UpdateInstances("h3", (Instance(server(1)),)),
        c.SyncInstances("h3", (server(1),)),
        report(3, instances=(server(1),)),
    ],
)
def test_it_is_forgotten_where_it_is_not_the_claims_any_more(
    end: c.Command[object],
) -> None:
    desk = bereft()
    desk.do(end)
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    before = desk.consumer(server(1))
    desk.do(c.ReleaseClaim("one"))
    assert desk.consumer(server(1)) == before
    assert desk.used(2) == {}


def test_a_new_claim_for_it_takes_its_place() -> None:
    """Nothing would ever end what the old one left: no host names the instance."""
    desk = bereft()
    desk.do(claim("two", on(1, 3)))
    assert (desk.used(1), desk.used(3)) == ({}, SIZE)
    desk.do(c.ReleaseClaim("two"))
    assert (desk.used(1), desk.used(3)) == ({}, {})


def test_without_allocations_nothing_is_left_to_remember() -> None:
    desk = bereft(on(1, 1, size={}), on(2, 2, size={}))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
