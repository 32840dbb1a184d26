"""Instances that Nova places in these books count until their host names them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import AlreadyClaimed, Conflict
from gantt.model import commands as c
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import Instance, ServerGroup
from gantt.model.request_identity import RequestIdentity
from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.placement.claimed_hosts import rows_since
from gantt.state.supposition import without
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
from tests.placement.rules.test_topology_claims import SECOND, saved

LOAD = {"vcpus": 2, "memory_mb": 1024, "disk_mb": 10 * 1024, "instances": 1}
OURS = RequestIdentity()
NOTHING = dict.fromkeys(LOAD, 0)
GROUP = "88888888-5555-4555-8555-000000000001"


def desk_of(hosts: int = 2) -> FleetDesk:
    """Hosts that the feed reads."""
    desk = FleetDesk(hosts)
    for number in range(1, hosts + 1):
        desk.do(saved(number, 1, vcpus_used=1))
    return desk


def allocated(instance: int, *hosts: int, **more: Any) -> ConsumerAllocations:
    shares = {uuid_of(number): SIZE for number in hosts}
    fields = {"generation": None, **more}
    return ConsumerAllocations(server(instance), shares, "p", "u", **fields)


def placed(instance: int, *hosts: int, **more: Any) -> c.SetAllocations:
    return c.SetAllocations((allocated(instance, *hosts, **more),))


def named(
    instance: int, host: str = "h1", saved_at: int | None = SECOND
) -> c.UpdateInstances:
    """By the feed; ``saved_at`` None: by a cast of Nova."""
    return c.UpdateInstances(host, (Instance(server(instance), {}, saved_at),))


def test_it_is_load_from_its_allocations_on_until_its_host_names_it() -> None:
    desk = desk_of()
    assert undone(desk, placed(1, 1))
    desk.do(placed(1, 1))
    assert (desk.host(1).claimed, desk.host(2).claimed) == (LOAD, NOTHING)
    hosts = desk.state.fleet.hosts
    assert (hosts.num_io_ops[0], hosts.num_instances[0]) == (1, 1)
    # Nova tells that it runs; what it takes is in a row that is not read yet.
    for _ in range(2):
        desk.do(named(1, saved_at=None))
        assert desk.host().claimed == LOAD
    assert hosts.num_instances[0] == 1
    desk.do(named(1))
    assert desk.host().claimed == NOTHING
    assert desk.used() == SIZE


def test_a_member_counts_on_its_host_at_once() -> None:
    """Eight hosts, eight members: there is no place for the ninth."""
    desk = desk_of(2)
    members = frozenset(server(number) for number in (1, 2, 3))
    desk.do(
        c.SetServerGroup(ServerGroup(GROUP, policy="anti-affinity", members=members))
    )
    desk.do(placed(1, 1), placed(2, 2))
    assert group_rules.counts(desk.state.fleet, InstanceGroup(GROUP)) == {
        "h1": 1,
        "h2": 1,
    }


@pytest.mark.parametrize("how", ["delete", "put", "elsewhere", "host"])
def test_it_ends_with_its_allocations(how: str) -> None:
    desk = desk_of()
    desk.do(placed(1, 1))
    desk.do(
        {
            "delete": c.DeleteAllocations(server(1)),
            "put": c.SetAllocations((ConsumerAllocations(server(1), {}, "p", "u", 1),)),
            "elsewhere": placed(1, 2, generation=1),
            "host": c.DeleteInstance("h1", server(1)),
        }[how]
    )
    assert desk.host(1).claimed == NOTHING
    assert desk.host(2).claimed == (LOAD if how == "elsewhere" else NOTHING)


def test_what_no_request_here_claimed_is_not_released() -> None:
    """Who wrote the allocations frees them, by the generation that they have."""
    desk = desk_of()
    desk.do(placed(1, 1))
    (row,) = desk.claims()
    told = desk.refusal(c.ReleaseClaim(row.claim), Conflict)
    assert "no request here made it" in told
    assert f"{server(1)} through Placement's API (" in told
    desk.do(c.ConfirmClaim(row.claim))
    confirmed = replace(row, updated_at=desk.now)
    assert (desk.claims(), desk.used()) == ([confirmed], SIZE)
    desk.do(c.DeleteAllocations(server(1)))
    assert (desk.claims(), desk.used()) == ([], {})


def test_a_claim_of_a_request_here_is_released_as_ever() -> None:
    desk = desk_of()
    desk.do(claim("mine", on(1, 1)), placed(2, 1))
    desk.do(c.ReleaseClaim("mine"))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    assert desk.used() == SIZE


def test_its_load_is_what_was_written_last() -> None:
    """Of a resize on its host, or once its ports and devices are known."""
    desk = desk_of()
    more = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 10}
    desk.do(placed(1, 1))
    (first,) = desk.claims()
    again = replace(allocated(1, 1, generation=1), allocations={uuid_of(1): more})
    assert undone(desk, c.SetAllocations((again,)))
    desk.do(c.SetAllocations((again,)))
    assert desk.host(1).claimed == {**LOAD, "vcpus": 4, "memory_mb": 4096}
    (second,) = desk.claims()
    assert (second.claim, second.consumer_generation) == (first.claim, 2)
    desk.refusal(c.ReleaseClaim(second.claim), Conflict)
    less = replace(again, allocations={uuid_of(1): SIZE}, generation=2)
    desk.do(c.SetAllocations((less,)))
    assert desk.host(1).claimed == LOAD
    desk.do(named(1))
    assert desk.host(1).claimed == NOTHING


def test_it_goes_with_its_host() -> None:
    desk = desk_of()
    desk.do(placed(1, 1))
    desk.do(c.DeleteHost("h1", "n1"))
    assert (desk.claims(), desk.used()) == ([], SIZE)


def test_it_moves_with_a_host_that_is_adopted() -> None:
    desk = desk_of(1)
    desk.do(placed(1, 1))
    desk.now += 3600 * SECOND
    desk.do(c.AdoptHost("h1", "n1", "h9", "n9", None, 0))
    (row,) = desk.claims()
    desk.refusal(c.ReleaseClaim(row.claim), Conflict)


def test_another_request_here_does_not_free_it() -> None:
    """As in Nova, who has allocations keeps them where it is placed again."""
    desk = desk_of()
    desk.do(placed(1, 1))
    desk.refusal(claim("new", on(1, 2), identity=OURS), AlreadyClaimed)
    desk.do(claim("new", on(1, 2)))
    assert [row.claim for row in desk.claims()] == ["new"]
    assert (desk.used(1), desk.used(2)) == (SIZE, SIZE)


def test_one_that_is_evacuated_counts_where_it_goes() -> None:
    desk = desk_of()
    desk.do(named(1), placed(1, 1), placed(1, 1, 2, generation=1))
    assert (desk.host(1).claimed, desk.host(2).claimed) == (NOTHING, LOAD)


def test_what_counts_already_does_not_count_twice() -> None:
    desk = desk_of()
    desk.do(claim("mine", on(1, 1)), placed(1, 1, generation=1))
    assert desk.host().claimed == LOAD
    desk.do(named(2), placed(2, 1))
    assert desk.host().claimed == LOAD


@pytest.mark.parametrize(
    "command",
    [
        placed(1, 1, consumer_type="MIGRATION"),
        c.SetAllocations((allocated(1, 1), allocated(2, 2))),
        c.SetAllocations(
            (
                ConsumerAllocations(
                    server(1), {uuid_of(1): {"DISK_GB": 1}}, "p", "u", None
                ),
            )
        ),
    ],
    ids=["migration", "move", "disk"],
)
def test_what_is_no_instance_that_starts_is_no_load(
    command: c.SetAllocations,
) -> None:
    desk = desk_of()
    desk.do(command)
    assert desk.claims() == []


@pytest.mark.parametrize("name", [server(1).replace("5", "A"), "5" * 32, "job-2"])
def test_what_no_host_would_name_so_is_no_load(name: str) -> None:
    desk = desk_of()
    desk.do(c.SetAllocations((replace(allocated(1, 1), consumer_uuid=name),)))
    assert (desk.claims(), desk.used()) == ([], SIZE)


def test_hosts_that_name_no_instances_are_not_filled_for_ever() -> None:
    desk = FleetDesk(1)
    desk.do(placed(1, 1))
    assert desk.claims() == []
    # A report of an agent without a list is no list, either.
    desk.do(replace(report(1, vcpus_used=1), is_of_agent=True), placed(2, 1))
    assert desk.claims() == []


def test_a_shadow_does_not_see_what_it_is_compared_with() -> None:
    desk = desk_of()
    desk.now += 9 * SECOND
    desk.do(placed(1, 1))
    rows = rows_since(desk.state, (server(1),), desk.now)
    seen = without(desk.state, rows).fleet.hosts
    assert (int(seen.claimed_vcpus[0]), int(seen.claimed_memory_mb[0])) == (0, 0)
    assert desk.host().claimed == LOAD
