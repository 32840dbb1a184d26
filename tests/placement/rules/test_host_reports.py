"""Hosts: what a report writes, what it leaves alone, whose provider it is."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import (
    Conflict,
    DuplicateName,
    GanttError,
    Invalid,
    NotFound,
    UnknownName,
)
from gantt.model import commands as c
from gantt.model import rows as t
from gantt.model.hosts import HostAggregate, HostStats, Instance
from gantt.model.names import MAX_INT
from tests.placement.desk import ABSENT
from tests.placement.fleet_desk import (
    FleetDesk,
    claim,
    on,
    report,
    server,
    undone,
    uuid_of,
)

AVX, SSE = "HW_CPU_X86_AVX", "HW_CPU_X86_SSE"


def stock(total: int, reserved: int = 0, ratio: float = 1.0) -> c.Inventory:
    return c.Inventory(total, reserved, max_unit=total, allocation_ratio=ratio)


def test_a_new_host_comes_with_its_provider() -> None:
    desk = FleetDesk()
    view = desk.do(report(reserved={"MEMORY_MB": 512}, stats={"num_instances": 3}))
    assert view.provider_uuid == uuid_of(1)
    assert view.stats["stats"] == {"num_instances": 3}
    assert not [name for name in view.stats if name.startswith("_")]
    assert view == desk.host()
    assert desk.inventories() == {
        "VCPU": stock(8),
        "MEMORY_MB": stock(8192, 512),
        "DISK_GB": stock(100),
    }
    assert desk.generation(uuid_of(1)) == 1
    found = desk.state.providers.find(uuid_of(1))
    assert found is not None and found.name == "n1"


def test_a_report_that_says_nothing_new_changes_nothing() -> None:
    desk = FleetDesk()
    facts: dict[str, Any] = {
        "traits": (SSE, AVX, AVX),
        "supported_instances": (("x86_64", "kvm", "hvm"),),
        "stats": {"b": 1, "a": [1, 2]},
        "cpu_allocation_ratio": 0.0,
    }
    first = desk.do(report(**facts))
    assert desk.changes(report(**facts)) == 0
    assert desk.changes(c.UpdateHost("h1", "n1", HostStats(), ABSENT)) == 0
    assert desk.do(report(**facts)) == first


def test_a_report_may_tell_a_part() -> None:
    desk = FleetDesk(1)
    desk.do(c.UpdateHost("h1", "n1", HostStats(vcpus=16, host_ip=None), ABSENT))
    assert desk.host().stats["memory_mb"] == 8192
    assert desk.host().stats["host_ip"] is None
    assert desk.inventories()["VCPU"] == stock(16)


@pytest.mark.parametrize(
    ("facts", "classes"),
    [
        ({"vcpus": 0}, {"MEMORY_MB", "DISK_GB"}),
        ({"cpu_allocation_ratio": 2.5}, {"VCPU", "MEMORY_MB", "DISK_GB"}),
        ({"local_gb": 0, "memory_mb": 0}, {"VCPU"}),
    ],
)
def test_inventories_follow_reports(facts: dict[str, Any], classes: set[str]) -> None:
    desk = FleetDesk(1)
    before = desk.generation(uuid_of(1))
    desk.do(report(1, **{"cpu_allocation_ratio": 1.0, **facts}))
    assert desk.inventories().keys() == classes
    assert desk.generation(uuid_of(1)) == before + 1
    ratio = facts.get("cpu_allocation_ratio", 1.0)
    assert all(
        one.allocation_ratio in (1.0, ratio) for one in desk.inventories().values()
    )
    desk.do(report(1, cpu_allocation_ratio=1.0))
    assert desk.inventories() == FleetDesk(1).inventories()


def test_ratios_and_reserves_of_the_command_follow_too() -> None:
    """Of Nova's hosts: what it leaves open, its options say."""
    desk = FleetDesk()
    desk.do(report(cpu_allocation_ratio=None))
    assert desk.inventories()["VCPU"].allocation_ratio == 1.0
    desk.do(report(comes_from_nova=True))
    assert desk.inventories()["VCPU"].allocation_ratio == 4.0
    assert desk.host().ratios == {"VCPU": 4.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}
    others = report(initial_ratios=(8.0, 1.5, 2.0))
    assert desk.changes(others) == 0, "as of an agent, by a process with other options"
    desk.do(
        report(
            comes_from_nova=True,
            initial_ratios=(8.0, 1.5, 2.0),
            reserved={"DISK_GB": 999},
        )
    )
    assert desk.inventories() == {
        "VCPU": stock(8, ratio=8.0),
        "MEMORY_MB": stock(8192, ratio=1.5),
        "DISK_GB": stock(100, 100, 2.0),
    }


def test_less_than_is_used_may_be_reported() -> None:
    desk = FleetDesk(1)
    desk.do(claim("one", on(1, 1)))
    desk.do(report(1, vcpus=1))
    assert desk.inventories()["VCPU"].total == 1
    desk.do(report(1, vcpus=0))
    # In use, so that it cannot go: all of it is reserved.
    assert desk.inventories()["VCPU"] == stock(1, 1)
    assert desk.changes(report(1, vcpus=0)) == 0
    desk.do(c.DeleteAllocations(server(1)), report(1, vcpus=0))
    assert "VCPU" not in desk.inventories()
    desk.do(report(1, vcpus=4))
    assert desk.inventories()["VCPU"].total == 4


def test_what_an_api_client_wrote_is_left_alone() -> None:
    desk = FleetDesk()
    desk.do(
        c.CreateProvider(uuid_of(9), "n1"),
        c.SetInventories(uuid_of(9), {"VCPU": c.Inventory(2)}),
        report(),
        report(vcpus=32),
    )
    assert desk.host().provider_uuid == uuid_of(9)
    assert desk.inventories(9)["VCPU"] == c.Inventory(2)
    assert desk.inventories(9)["DISK_GB"].total == 100
    assert desk.changes(report(vcpus=32)) == 0
    # Nor does it come back when the client takes it away: a reshape may have moved it.
    desk.do(c.DeleteInventory(uuid_of(9), "VCPU"), report(vcpus=16))
    assert "VCPU" not in desk.inventories(9)


def test_what_an_api_client_changed_is_not_ours_any_more() -> None:
    desk = FleetDesk(1)
    desk.do(
        c.SetInventory(uuid_of(1), "VCPU", c.Inventory(7)),
        c.DeleteInventory(uuid_of(1), "DISK_GB"),
    )
    before = desk.generation(uuid_of(1))
    assert desk.changes(report(1, cpu_allocation_ratio=1.0)) == 0
    desk.do(report(1, vcpus=9, local_gb=9))
    assert desk.inventories()["VCPU"] == c.Inventory(7)
    assert "DISK_GB" not in desk.inventories()
    assert desk.generation(uuid_of(1)) == before
    # Deleted and reported anew, the host starts anew: what is free is its own.
    desk.do(c.DeleteHost("h1", "n1"), report(1, vcpus=10, local_gb=10))
    assert desk.inventories()["VCPU"] == c.Inventory(7)
    assert desk.inventories()["DISK_GB"].total == 10


def test_a_host_that_comes_back_has_the_size_that_it_then_reports() -> None:
    desk = FleetDesk()
    desk.do(report(1, vcpus=16, memory_mb=32768, traits=(AVX, "CUSTOM_OLD")))
    assert undone(desk, c.DeleteHost("h1", "n1"))
    desk.do(c.DeleteHost("h1", "n1"))
    assert (desk.inventories(), desk.traits()) == ({}, set())
    desk.do(report(1, vcpus=4, memory_mb=8192, traits=(SSE,)))
    totals = {name: one.total for name, one in desk.inventories().items()}
    assert totals == {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 100}
    assert desk.traits() == {SSE}
    desk.do(report(1, vcpus=6, memory_mb=6144))
    assert desk.inventories()["VCPU"].total == 6


def test_what_is_in_use_of_a_deleted_host_is_not_free_and_comes_back_with_it() -> None:
    desk = FleetDesk(1)
    desk.do(claim("one", on(1, 1, size={"VCPU": 2})), c.ConfirmClaim("one"))
    assert undone(desk, c.DeleteHost("h1", "n1"))
    desk.do(c.DeleteHost("h1", "n1"))
    assert desk.inventories() == {"VCPU": c.Inventory(8, 8, max_unit=9)}
    desk.do(report(1, vcpus=4, cpu_allocation_ratio=1.0))
    assert desk.inventories()["VCPU"] == stock(4)
    assert desk.used() == {"VCPU": 2}
    desk.do(report(1, vcpus=5, cpu_allocation_ratio=1.0))
    assert desk.inventories()["VCPU"] == stock(5)


def test_what_a_client_writes_on_a_deleted_host_is_left_alone() -> None:
    desk = FleetDesk(1)
    desk.do(claim("one", on(1, 1)), c.DeleteHost("h1", "n1"))
    theirs = c.Inventory(7, 7, max_unit=7)  # all of it reserved, as one that drains
    desk.do(c.PutInventory(uuid_of(1), "VCPU", theirs), report(1, vcpus=3))
    assert desk.inventories()["VCPU"] == theirs
    assert desk.inventories()["MEMORY_MB"].total == 8192


def test_reports_add_and_remove_their_own_traits() -> None:
    desk = FleetDesk()
    desk.do(
        c.CreateTrait("CUSTOM_GOLD"),
        c.CreateProvider(uuid_of(1), "n1"),
        c.SetTraits(uuid_of(1), ("CUSTOM_GOLD", SSE)),
        report(uuid=uuid_of(1), traits=(AVX, SSE, "CUSTOM_NEW")),
    )
    assert desk.traits() == {"CUSTOM_GOLD", AVX, SSE, "CUSTOM_NEW"}
    desk.do(report(uuid=uuid_of(1), traits=()))
    assert desk.traits() == {"CUSTOM_GOLD", SSE}
    unknown = report(traits=("HW_NOPE", "COMPUTE_NOPE", AVX))
    assert "HW_NOPE" in desk.refusal(unknown, UnknownName)


def test_the_provider_of_a_host() -> None:
    desk = FleetDesk()
    desk.do(report(1, uuid=uuid_of(7)))
    assert desk.host().provider_uuid == uuid_of(7)
    # It keeps it though the node's name is another's, or it reports no uuid.
    desk.do(c.UpdateProvider(uuid_of(7), "other"), report(1, vcpus=3))
    assert desk.host().provider_uuid == uuid_of(7)
    desk.do(c.DeleteProvider(uuid_of(7)))
    assert desk.host().provider_uuid is None
    desk.do(report(1, vcpus=3))
    assert desk.host().provider_uuid == uuid_of(7)
    assert desk.inventories(7)["VCPU"].total == 3
    desk.do(report(1, uuid=uuid_of(8), node="n8", host="h1"))
    assert desk.state.fleet.hosts.count == 2


def test_a_provider_made_anew_by_a_client_is_furnished_anew() -> None:
    desk = FleetDesk(1)
    desk.do(
        c.DeleteProvider(uuid_of(1)),
        c.CreateProvider(uuid_of(1), "n1"),
        report(1, cpu_allocation_ratio=1.0),
    )
    assert desk.inventories() == FleetDesk(1).inventories()


REFUSALS: list[tuple[c.UpdateHost, type[GanttError], str]] = [
    (report(2, uuid=uuid_of(1)), Conflict, "which belongs to host h1, node n1"),
    (report(2, node="n1"), Conflict, "which belongs to host h1, node n1"),
    (report(2, uuid=ABSENT, node="n1"), DuplicateName, uuid_of(1)),
    (report(1, vcpus=-1), Invalid, "vcpus must be a whole number from 0"),
    (report(1, memory_mb=MAX_INT + 1), Invalid, f"to {MAX_INT}; got 2147483648"),
    (report(1, free_disk_gb="9"), Invalid, "free_disk_gb must be"),
    (report(1, ram_allocation_ratio=float("inf")), Invalid, "ram_allocation_ratio"),
    (report(1, disk_allocation_ratio=-1.0), Invalid, "disk_allocation_ratio must be"),
    (report(1, host_ip=7), Invalid, "host_ip must be a text"),
    (report(1, metrics=[object()]), Invalid, "not JSON"),
    (report(1, host=""), Invalid, "needs a name"),
]


@pytest.mark.parametrize(("command", "kind", "words"), REFUSALS)
def test_refusals(command: c.UpdateHost, kind: type[GanttError], words: str) -> None:
    desk = FleetDesk(1)
    assert words in desk.refusal(command, kind)


def test_a_provider_joins_the_aggregates_of_its_host() -> None:
    desk = FleetDesk(1)
    gold, silver = ABSENT, uuid_of(77)
    desk.do(
        c.SetHostAggregates(
            (
                HostAggregate(gold, "gold", 1, frozenset({"h1", "h2"})),
                HostAggregate(silver, "silver", 2, frozenset({"h3"})),
            )
        ),
        report(2),
    )
    assert desk.aggregates(1) == desk.aggregates(2) == {gold}
    # An API client may take it out; only joining and leaving are ours.
    desk.do(c.SetAggregates(uuid_of(2), ()), report(2, vcpus=3))
    assert desk.aggregates(2) == set()


def test_a_report_ends_the_claims_that_it_counts() -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1), on(2, 1), on(3, 2), leased_for_us=10))
    assert desk.host().claimed["vcpus"] == 4
    view = desk.do(
        report(1, cpu_allocation_ratio=1.0, instances=(server(1), server(3)))
    )
    assert view.claimed == {
        "vcpus": 2,
        "memory_mb": 1024,
        "disk_mb": 10240,
        "instances": 1,
    }
    assert view == desk.host()
    assert [row.instance_uuid for row in desk.claims()] == [server(2), server(3)]
    view = desk.do(report(1, vcpus_used=4, instances=(server(2),)))
    assert view.claimed["instances"] == 0
    assert view == desk.host()
    assert desk.used() == {"VCPU": 4, "MEMORY_MB": 2048, "DISK_GB": 20}


def test_a_host_that_is_deleted_takes_its_leases_and_instances_along() -> None:
    desk = FleetDesk(2)
    desk.do(
        claim("kept", on(1, 1)),
        claim("leased", on(2, 1), on(3, 2), leased_for_us=100),
        c.UpdateInstances("h1", (Instance(server(8)),)),
        c.DeleteHost("h1", "n1"),
    )
    assert list(desk.state.rows(t.INSTANCES)) == []
    # The kept claim's allocations are its caller's; the lease is released whole.
    assert [(row.claim, row.host_id) for row in desk.claims()] == [("kept", t.NO_HOST)]
    assert desk.used(1) == {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
    assert desk.used(2) == {}
    assert "h1" in desk.refusal(c.DeleteHost("h1", "n1"), NotFound)


def test_instances_stay_while_a_node_of_their_host_does() -> None:
    desk = FleetDesk(1)
    desk.do(
        report(2, host="h1"),
        c.UpdateInstances("h1", (Instance(server(8)),)),
        c.DeleteHost("h1", "n1"),
    )
    assert len(list(desk.state.rows(t.INSTANCES))) == 1


def test_an_instance_that_a_report_lists_is_on_the_host() -> None:
    desk = FleetDesk(2)
    desk.do(claim("one", on(1, 1)))
    first = report(1, instances=(server(1), server(2), server(1)))
    assert undone(desk, first)
    view = desk.do(first)
    assert view == desk.host()
    assert view.instances == (server(1), server(2))
    assert view.claimed["instances"] == 0
    assert desk.changes(first) == 0
    # It tells of one node and of one moment: an instance not listed may be there.
    assert desk.changes(report(1, instances=())) == 0
    # Something else that is new in it makes no difference.
    moved = report(2, instances=(server(2),), vcpus_used=2)
    assert desk.do(moved) == desk.host(2)
    assert (desk.host(1).instances, desk.host(2).instances) == (
        (server(1),),
        (server(2),),
    )
    desk.do(c.DeleteInstance("h1", server(1)))
    desk.do(first)
    assert desk.host().instances == (server(1), server(2))


def test_what_a_whole_list_lacks_is_gone_unless_it_is_held() -> None:
    desk = FleetDesk(2)
    whole = {"lists_instances": True, "cpu_allocation_ratio": 1.0}
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.do(report(1, instances=(server(1), server(2), server(3)), **whole))
    shorter = report(1, instances=(server(3),), **whole)
    assert undone(desk, shorter)
    view = desk.do(shorter)
    # The first has allocations: whether it is gone, the audit says.
    assert view.instances == desk.host().instances == (server(1), server(3))
    assert desk.changes(shorter) == 0
    desk.do(c.DeleteAllocations(server(1)), shorter)
    assert desk.host().instances == (server(3),)
    # A report that does not list says nothing of them, nor does one of two nodes.
    assert desk.changes(report(1, instances=(), cpu_allocation_ratio=1.0)) == 0
    desk.do(report(9, host="h1", **whole))
    assert desk.changes(report(1, instances=(), **whole)) == 0


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        (
            {"numa_topology": {"cells": [{"id": 0, "cpuset": [0], "memory": -1}]}},
            "h1, node n1 cannot be stored: stats.numa_topology.cells.0.memory must be",
        ),
        ({"pci_stats": [{"count": -1}]}, "pci_stats.0.count must be .* not -1"),
        ({"obeys_claims": "yes"}, "obeys_claims must be true or false; got 'yes'"),
    ],
)
def test_what_of_a_host_cannot_be_is_refused_and_the_last_report_stands(
    facts: dict[str, Any], named: str
) -> None:
    good = {
        "numa_topology": {"cells": [{"id": 0, "cpuset": [0], "memory": 1}]},
        "pci_stats": [{"count": 1}],
        "obeys_claims": True,
    }
    desk = FleetDesk()
    before = desk.do(report(1, **good))
    with pytest.raises(Invalid, match=named):
        desk.do(report(1, **facts))
    assert desk.host() == before
    assert {name: before.stats[name] for name in good} == good
