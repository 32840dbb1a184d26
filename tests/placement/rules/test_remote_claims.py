"""The rules for claims whose amounts a remote Placement keeps."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import ClaimExpired, ClaimLost, Conflict, Invalid, NotFound
from gantt.model import commands as c
from gantt.model.holding import Held, Holding, read_holding
from gantt.model.hosts import HostAggregate, Instance
from gantt.model.hosts import Service as ServiceState
from gantt.model.rows import OVER
from tests.placement.fleet_desk import SIZE, FleetDesk, report, server, uuid_of


def claim(number: int = 1, *instances: int, **more: Any) -> c.Claim:
    """The claim ``c<number>`` of some instances on host 1, then 2."""
    held = more.pop("held", None)
    vcpus = more.pop("vcpus", 2)
    facts: dict[str, Any] = {"leased_for_us": 1_000_000, "is_remote": True, **more}
    choices = tuple(c.Choice(host, {uuid_of(host): dict(SIZE)}) for host in (1, 2))
    return c.Claim(
        claim=f"c{number}",
        instances=tuple(
            c.InstanceClaim(server(one), choices, held) for one in instances or (1,)
        ),
        vcpus=vcpus,
        memory_mb=1024,
        disk_mb=10_240,
        project_id="project",
        user_id="user",
        **facts,
    )


@pytest.fixture
def desk() -> FleetDesk:
    """Two hosts that write no books."""
    found = FleetDesk()
    for number in (1, 2):
        found.do(report(number, uuid=uuid_of(number), writes_books=False))
    return found


def test_a_host_without_books_writes_itself_alone(desk: FleetDesk) -> None:
    assert desk.host(1).provider_uuid == uuid_of(1)
    assert desk.host(1).stats["vcpus"] == 8
    assert not tuple(desk.state.rows("resource_providers"))
    before = desk.state.revision
    assert desk.do(report(1, uuid=uuid_of(1), writes_books=False)) == desk.host(1)
    assert desk.do(report(1, vcpus=9, writes_books=False)).provider_uuid == uuid_of(1)
    assert desk.do(report(3, writes_books=False)).provider_uuid is None
    assert desk.state.revision == before + 2


def test_the_uuid_of_a_host_is_its_own(desk: FleetDesk) -> None:
    with pytest.raises(Conflict, match="which belongs to host h1, node n1"):
        desk.do(report(2, uuid=uuid_of(1), writes_books=False))


def test_a_host_goes_back_to_the_books_and_away_again(desk: FleetDesk) -> None:
    desk.do(c.CreateProvider(uuid_of(1), "n1"))
    desk.do(report(1))
    assert desk.inventories(1)["VCPU"].total == 8
    desk.do(report(1, vcpus=9, writes_books=False))
    assert desk.inventories(1)["VCPU"].total == 8
    assert desk.host(1).provider_uuid == uuid_of(1)


def test_amounts_are_not_judged_but_remembered(desk: FleetDesk) -> None:
    answer = desk.do(claim(1, 1, 2, vcpus=1_000))
    assert answer.taken == (0, 0)
    row = desk.claims()[0]
    assert row.leased_until == desk.now + 1_000_000
    assert row.remote is not None
    wanted = {uuid_of(1): SIZE}
    assert read_holding(row.remote) == Holding(wanted, "project", "user")
    assert desk.host(1).claimed["vcpus"] == 2_000


def test_what_is_held_stays_beside_what_is_new(desk: FleetDesk) -> None:
    held = Held(3, {uuid_of(1): {"VCPU": 1}, uuid_of(9): {"VCPU": 4}})
    desk.do(claim(held=held))
    found = read_holding(desk.claims()[0].remote or "")
    assert found.allocations == held.allocations
    assert (found.generation, found.made_generation) == (3, 4)
    assert found.kept == held.allocations


def test_a_disabled_host_is_passed_over(desk: FleetDesk) -> None:
    desk.do(c.UpdateService(ServiceState("h1", "nova-compute", disabled=True)))
    assert desk.do(claim()).taken == (1,)


def test_a_remote_claim_begins_with_a_lease(desk: FleetDesk) -> None:
    with pytest.raises(Invalid, match="must start with a lease"):
        desk.do(claim(leased_for_us=None))


def test_confirmed_it_stays_until_its_host_names_it(desk: FleetDesk) -> None:
    desk.do(claim())
    desk.do(c.ConfirmClaim("c1"))
    assert desk.claims()[0].leased_until is None
    desk.do(c.DropClaim("c1"))
    assert len(desk.claims()) == 1
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    assert not desk.claims()


def test_confirmed_with_a_lease_it_is_leased_anew(desk: FleetDesk) -> None:
    desk.do(claim())
    desk.do(c.ConfirmClaim("c1", 5_000_000))
    assert desk.claims()[0].leased_until == desk.now + 5_000_000


@pytest.mark.parametrize("way", ["released", "expired", "host gone", "instance gone"])
def test_it_ends_in_two_steps(desk: FleetDesk, way: str) -> None:
    desk.do(claim(1, 1, 2))
    if way == "released":
        desk.do(c.ReleaseClaim("c1"))
    elif way == "expired":
        desk.now += 2_000_000
        assert desk.do(c.ExpireClaims()) == 1
        assert desk.do(c.ExpireClaims()) == 0
    elif way == "host gone":
        desk.do(c.DeleteHost("h1", "n1"))
    else:
        desk.do(c.UpdateInstances("h9", (Instance(server(1)), Instance(server(2)))))
        desk.do(c.DeleteInstance("h1", server(1)))
        desk.do(c.DeleteInstance("h1", server(2)))
    assert [row.leased_until for row in desk.claims()] == [OVER, OVER]
    assert desk.state.fleet.claims.over() == desk.claims()
    with pytest.raises(ClaimExpired):
        desk.do(c.ConfirmClaim("c1"))
    with pytest.raises(NotFound):
        desk.do(c.ReleaseClaim("c1"))
    with pytest.raises(ClaimLost, match="may hold allocations in a remote"):
        desk.do(claim(2))
    desk.do(c.DropClaim("c1"))
    assert not desk.claims()
    assert desk.do(claim(2, vcpus=1)).claim == "c2"


def test_what_is_over_is_not_ended_by_a_report(desk: FleetDesk) -> None:
    desk.do(claim(1, 1))
    desk.do(c.ReleaseClaim("c1"))
    desk.do(c.UpdateInstances("h1", (Instance(server(1)),)))
    desk.do(report(1, instances=(server(1),), writes_books=False))
    assert [row.is_over for row in desk.claims()] == [True]


def test_what_is_being_written_is_not_ended_by_a_report(desk: FleetDesk) -> None:
    """The host names it already where it is to stay on the same host."""
    desk.do(claim(1, 1))
    named = c.UpdateInstances("h1", (Instance(server(1)),))
    desk.do(named)
    assert len(desk.claims()) == 1
    desk.do(c.ConfirmClaim("c1", 5_000_000))
    desk.do(c.SyncInstances("h1", ()), named)
    assert not desk.claims()


def test_local_books_do_not_end_it(desk: FleetDesk) -> None:
    desk.do(claim())
    desk.do(c.CreateProvider(uuid_of(7), "seven"))
    desk.do(c.SetInventories(uuid_of(7), {"VCPU": c.Inventory(8)}))
    wish = c.ConsumerAllocations(server(1), {uuid_of(7): {"VCPU": 1}}, "p", "u")
    desk.do(c.SetAllocations((wish,)))
    assert desk.claims()[0].leased_until is not None


def test_a_confirmed_claim_gives_way_to_a_new_one(desk: FleetDesk) -> None:
    desk.do(claim(1))
    desk.do(c.ConfirmClaim("c1"))
    desk.do(claim(2))
    assert [row.claim for row in desk.claims()] == ["c2"]


def test_aggregates_find_no_provider_to_mark(desk: FleetDesk) -> None:
    desk.do(c.SetHostAggregates((HostAggregate(server(8), "a", 1, frozenset({"h1"})),)))
    assert desk.host(1).aggregates == (server(8),)


def test_a_claim_that_is_over_is_handed_to_one_at_a_time(desk: FleetDesk) -> None:
    desk.do(claim(1, 1))
    desk.do(claim(2, 2))
    desk.do(c.ReleaseClaim("c1"))
    desk.do(c.ReleaseClaim("c2"))
    assert [row.claim for row in desk.do(c.SettleClaims(50, "c2"))] == ["c2"]
    assert [row.claim for row in desk.do(c.SettleClaims(50, limit=1))] == ["c1"]
    assert desk.do(c.SettleClaims(50)) == ()
    desk.now += 60
    assert [row.claim for row in desk.do(c.SettleClaims(50))] == ["c1", "c2"]
    assert desk.do(c.SettleClaims(50)) == ()
    desk.now -= 30  # the clock was set back: no claim waits until it has caught up
    assert [row.claim for row in desk.do(c.SettleClaims(50))] == ["c1", "c2"]
