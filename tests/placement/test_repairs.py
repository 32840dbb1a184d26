"""Repairs of what the audit finds, as rules: each done once, each undone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import Conflict
from gantt.model import commands as c
from gantt.model.audit import Silence
from gantt.model.hosts import Service
from gantt.placement import listings
from gantt.placement.audit_queries import still
from gantt.state.state import State
from tests.placement.audit_desk import LATER, SPACE, TERMS, AuditDesk
from tests.placement.desk import put
from tests.placement.fleet_desk import (
    SIZE,
    claim,
    moving,
    on,
    server,
    undone,
    uuid_of,
)
from tests.placement.rules.test_topology_claims import cells, named, pinned
from tests.placement.rules.test_topology_ends import MIGRATION, allocated


def test_what_is_claimed_and_does_not_run_is_found_and_repaired() -> None:
    desk = AuditDesk()
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.later()
    desk.tell(1, 2)
    desk.do(put(server(2), {uuid_of(1): {"VCPU": 1}}))
    (found,) = desk.findings()
    assert (found.kind, found.host, found.node) == ("no_workload", "h1", "n1")
    assert (found.instance_uuid, found.claim) == (server(1), "one")
    assert found.allocations == {uuid_of(1): SIZE}
    assert undone(desk, c.Repair(found, TERMS))
    assert desk.repair(found) == found
    assert desk.used(1) == {"VCPU": 1} and desk.claims() == []
    assert desk.consumer(server(1)) is None
    assert desk.findings() == ()
    assert "has changed since" in desk.refusal(c.Repair(found, TERMS), Conflict)


def test_an_instance_that_ran_and_ended_is_found() -> None:
    desk = AuditDesk()
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.tell(1, 1)
    assert desk.claims() == [], "its host named it"
    desk.later()
    desk.tell(1)
    assert desk.host(1).instances == (server(1),)
    (new,) = desk.findings()
    assert (new.kind, new.claim, new.repair) == ("no_workload", "", "")
    assert "look again later" in new.detail
    desk.refusal(c.Repair(new, TERMS), Conflict)
    desk.now += TERMS.grace_us
    assert desk.findings()[0].repair == "", "that was one list, and time went by"
    desk.tell(1)
    (found,) = desk.findings()
    assert found.repair == "remove its allocations here"
    desk.repair(found)
    assert (desk.used(1), desk.host(1).instances) == ({}, ())


def test_an_instance_keeps_what_it_has_elsewhere() -> None:
    desk = AuditDesk()
    both = {uuid_of(1): {"VCPU": 1}, uuid_of(2): {"VCPU": 2}}
    desk.do(put(server(1), both))
    desk.later()
    desk.tell(2, lists_instances=False)
    desk.tell(1)
    (found,) = desk.findings()
    assert (found.host, found.allocations) == ("h1", {uuid_of(1): {"VCPU": 1}})
    generation = desk.consumer(server(1)).generation
    desk.repair(found)
    assert (desk.used(1), desk.used(2)) == ({}, {"VCPU": 2})
    assert desk.consumer(server(1)).generation == generation + 1


def test_an_instance_that_another_host_lists_is_not_repaired() -> None:
    """It may be moving: its allocations may be those of the way there or back."""
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later()
    desk.tell(2, 1)
    desk.tell(1)
    desk.later()
    desk.tell(1)
    found = next(one for one in desk.findings() if one.kind == "no_workload")
    assert (found.host, found.repair) == ("h1", "")
    assert "h2 does" in found.detail
    desk.refusal(c.Repair(replace(found, repair="remove it"), TERMS), Conflict)


def test_a_list_counts_although_another_host_named_the_instance_later() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.tell(2, 1)
    desk.tell(1, 1)
    desk.tell(1)
    assert desk.host(1).instances == (server(1),), "h1 named it last"
    desk.later(LATER, 1)
    found = next(one for one in desk.findings() if one.kind == "no_workload")
    assert (found.repair, "h2 does" in found.detail) == ("", True)
    desk.refusal(c.Repair(replace(found, repair="remove it"), TERMS), Conflict)


def test_uuids_are_compared_in_one_form() -> None:
    desk = AuditDesk(1)
    upper = "ABCDEFAB-0000-4000-8000-00000000000A"
    desk.do(put(upper, {uuid_of(1): {"VCPU": 1}}))
    desk.later()
    desk.tell(1, instances=(upper.lower(),))
    assert desk.findings() == ()
    desk.tell(1, instances=(upper,))
    assert desk.findings() == ()
    desk.tell(1)
    desk.later(LATER, 1)
    (found,) = desk.findings()
    desk.repair(found)
    assert desk.used(1) == {} and desk.host(1).instances == ()


def test_what_runs_unclaimed_is_found_and_is_not_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(2), {uuid_of(2): {"VCPU": 1}}))
    desk.tell(1, 1, 2)
    desk.later(LATER, 1)
    first, second = desk.findings()
    assert (first.kind, first.instance_uuid, first.repair) == (
        "no_claim",
        server(1),
        "",
    )
    assert "neither allocations nor a claim" in first.detail
    assert "on another provider" in second.detail
    assert "cannot be repaired here" in desk.refusal(c.Repair(first, TERMS), Conflict)


def test_an_inventory_that_drifted_is_found_and_repaired() -> None:
    desk = AuditDesk()
    changed = replace(desk.inventories()["VCPU"], total=6, max_unit=4, reserved=1)
    desk.do(c.PutInventory(uuid_of(1), "VCPU", changed))
    desk.tell(1)
    (found,) = desk.findings()
    assert (found.kind, found.resource_class) == ("inventory_drift", "VCPU")
    assert (found.reported, found.booked) == (8, 6)
    generation = desk.generation(uuid_of(1))
    desk.repair(found)
    assert desk.inventories()["VCPU"] == replace(changed, total=8)
    assert desk.generation(uuid_of(1)) == generation + 1
    assert desk.findings() == ()


def test_an_inventory_that_reports_do_not_own_is_not_repaired() -> None:
    """It was there before the first report: a compute keeps it, or an operator."""
    desk = AuditDesk(0)
    desk.do(
        c.CreateProvider(uuid_of(1), "n1"),
        c.PutInventory(uuid_of(1), "VCPU", c.Inventory(6)),
    )
    desk.tell(1)
    (found,) = desk.findings()
    assert (found.kind, found.booked, found.repair) == ("inventory_drift", 6, "")
    desk.refusal(c.Repair(replace(found, repair="set it"), TERMS), Conflict)


def _before_reports(*services: c.Command[Any]) -> AuditDesk:
    """A host that found inventories like those of reports, as where an earlier release
    forgot whose they were; they are larger than it is."""
    desk = AuditDesk(0)
    sizes = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 100}
    desk.do(c.CreateProvider(uuid_of(1), "n1"))
    for name, total in sizes.items():
        had = c.Inventory(total, max_unit=total, allocation_ratio=4.0)
        desk.do(c.PutInventory(uuid_of(1), name, had))
    desk.do(*services)
    desk.tell(1)
    return desk


def test_what_earlier_reports_may_have_written_is_repaired_and_followed_again() -> None:
    desk = _before_reports()
    memory, cpus = desk.findings()
    assert (memory.resource_class, cpus.resource_class) == ("MEMORY_MB", "VCPU")
    desk.repair(memory)
    desk.repair(cpus)
    assert desk.findings() == ()
    assert desk.inventories()["VCPU"] == c.Inventory(8, 0, 1, 8, 1, 4.0)
    desk.tell(1, vcpus=3, memory_mb=1024)
    assert desk.inventories()["VCPU"].total == 3
    assert desk.inventories()["MEMORY_MB"].total == 1024


def test_what_an_agent_reports_of_a_host_that_came_back_is_its_size() -> None:
    desk = AuditDesk(1)
    desk.do(c.DeleteHost("h1", "n1"))
    desk.tell(1, vcpus=3, memory_mb=1024)
    assert desk.findings() == ()
    assert desk.inventories()["VCPU"].total == 3
    desk.tell(1, vcpus=2)
    assert desk.inventories()["VCPU"].total == 2


def test_what_a_compute_may_have_written_is_not_repaired() -> None:
    desk = _before_reports(c.UpdateService(Service("h1")))
    assert {one.repair for one in desk.findings()} == {""}


def test_allocations_of_a_host_that_is_gone_are_found_and_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(claim("two", on(2, 1)), c.ConfirmClaim("two"))
    desk.do(c.DeleteHost("h1", "n1"))
    desk.later()
    plain, lost = sorted(desk.findings(), key=lambda one: one.instance_uuid or "")
    assert (lost.kind, lost.instance_uuid, lost.claim) == (
        "host_gone",
        server(2),
        "two",
    )
    assert plain.instance_uuid == server(1)
    assert plain.allocations == {uuid_of(1): {"VCPU": 1}}
    desk.repair(lost)
    assert desk.findings() == (plain,)
    desk.repair(plain)
    assert (desk.findings(), desk.used(1), desk.claims()) == ((), {}, [])


def test_a_lost_claim_has_its_grace_and_live_trees_are_not_its_own() -> None:
    desk = AuditDesk()
    desk.do(claim("two", on(2, 1)), c.ConfirmClaim("two"))
    desk.do(c.DeleteHost("h1", "n1"))
    assert desk.findings() == (), "its host was there a moment ago"
    desk.later()
    (lost,) = desk.findings()
    assert lost.kind == "host_gone"
    desk.tell(1)
    assert "host_gone" not in desk.audit().counts, "the host came back"
    desk.refusal(c.Repair(lost, TERMS), Conflict)
    assert desk.used(1) == SIZE


def test_what_was_lost_and_runs_elsewhere_is_not_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(c.DeleteHost("h1", "n1"))
    desk.tell(2, 1)
    desk.later()
    gone = next(one for one in desk.findings() if one.kind == "host_gone")
    assert "h2 names or lists it" in gone.detail and gone.repair == ""
    desk.refusal(c.Repair(replace(gone, repair="remove it"), TERMS), Conflict)


def test_a_repair_of_what_changed_is_refused() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later(LATER, 1)
    (found,) = desk.findings()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 2}}))
    desk.later(LATER, 1)
    assert "ask for the audit again" in desk.refusal(c.Repair(found, TERMS), Conflict)
    desk.tell(1, 1)
    desk.refusal(c.Repair(found, TERMS), Conflict)
    unknown = replace(found, host="h9")
    desk.refusal(c.Repair(unknown, TERMS), Conflict)


def test_what_an_instance_has_beside_its_claim_is_no_finding_of_its_own() -> None:
    """It was resized on its host: what it had there ends with its allocations."""
    desk = AuditDesk(1)
    desk.tell(1, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1)), named(1), pinned("resize", on(1, 1)))
    desk.tell(1, 1)
    desk.later(LATER, 1)
    assert len(desk.claims()) == 2
    assert not desk.findings()
    desk.tell(1)
    desk.later(LATER, 1)
    (found,) = desk.findings()
    assert (found.kind, found.instance_uuid) == ("no_workload", server(1))
    desk.repair(found)
    assert not desk.claims()


def test_a_migration_that_keeps_what_runs_is_not_found() -> None:
    """Its type is not known, and its host lists the instance."""
    desk = AuditDesk()
    desk.tell(1, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.tell(1, 1, 2)
    moved = (allocated(MIGRATION, 1), allocated(server(1), generation=1))
    desk.do(c.SetAllocations(moved))
    desk.later(LATER, 1)
    assert MIGRATION not in {one.instance_uuid for one in desk.findings()}
    back = allocated(server(1), 1), allocated(MIGRATION, generation=1)
    desk.do(c.SetAllocations(back))
    desk.tell(1, 2)
    desk.later(LATER, 1)
    (found,) = desk.findings()
    assert found.instance_uuid == server(1)
    desk.repair(found)
    assert [row.claim for row in desk.claims()] == ["two"]


def test_what_an_instance_left_without_allocations_is_found_and_repaired() -> None:
    """Nothing else would ever end it."""
    desk = AuditDesk()
    desk.tell(1, **SPACE, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1, size={})))
    desk.tell(1, 1, **SPACE)
    desk.do(claim("resize", on(1, 1, size={}), leased_for_us=1))
    desk.do(c.ReleaseClaim("resize"))
    desk.later(LATER, 1)
    assert not desk.findings()
    desk.tell(1)
    (found,) = desk.findings()
    assert not found.repair, "the host has been without it for less than the grace"
    desk.later(LATER, 1)
    (found,) = desk.findings()
    assert (found.instance_uuid, found.claim) == (server(1), "one")
    desk.repair(found)
    assert not desk.claims()


def test_a_repair_leaves_the_claim_on_another_host() -> None:
    """The instance went there without allocations, and neither host lists it."""
    desk = AuditDesk()
    desk.tell(1, **SPACE, numa_topology=cells(), obeys_claims=True)
    desk.tell(2, **SPACE)
    desk.do(pinned("one", on(1, 1, size={})))
    desk.do(moving(claim("move", on(1, 2, size={}), leased_for_us=None), 1))
    desk.later(LATER, 1)
    (found,) = desk.findings()
    assert (found.host, found.claim) == ("h1", "one")
    desk.repair(found)
    assert [row.claim for row in desk.claims()] == ["move"]


def test_a_name_that_nothing_stands_for_is_found_and_forgotten() -> None:
    """The host listed it no more, and then its allocations went."""
    desk = AuditDesk()
    desk.tell(1, 1, 2)
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(put(server(2), {uuid_of(1): {"VCPU": 1}}))
    desk.later(LATER, 1)
    desk.tell(1, 2)
    assert server(1) in desk.host(1).instances, "it has allocations here"
    desk.do(c.DeleteAllocations(server(1)))
    desk.later(LATER, 1)
    (found,) = desk.findings()
    assert (found.kind, found.instance_uuid) == ("no_workload", server(1))
    assert (found.allocations, found.repair) == ({}, "remove its name here")
    desk.repair(found)
    assert desk.host(1).instances == (server(2),)
    assert desk.findings() == ()


def test_host_gone_is_repaired_only_where_the_caller_names_it() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(c.DeleteHost("h1", "n1"))
    desk.later(LATER, 2)
    (found,) = desk.findings()
    assert found.kind == "host_gone" and found.repair
    assert "name the kind host_gone" in desk.refusal(c.Repair(found, TERMS), Conflict)
    assert desk.used(1) == {"VCPU": 1}
    desk.repair(found)
    assert desk.findings() == ()


def test_a_repair_looks_at_one_host_and_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = AuditDesk(hosts=20)
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.later()
    desk.tell(1)
    desk.later(LATER, 1)
    (found,) = desk.findings()
    looked: list[int] = []
    real = listings.listing_at

    def listing_at(
        state: State, row: int, *more: int
    ) -> listings.InstanceList | Silence:
        looked.append(row)
        return real(state, row, *more)

    monkeypatch.setattr(listings, "listing_at", listing_at)
    monkeypatch.setattr(type(desk.state.fleet.hosts), "live_rows", None)
    assert still(desk.state, found, desk.now, TERMS) is not None
    assert looked == [0]


def evacuated(desk: AuditDesk) -> None:
    """Its host was lost, and it was built again on the second one: Nova removes what it
    has on the first one only once a compute comes back there."""
    both = {uuid_of(1): {"VCPU": 2}, uuid_of(2): {"VCPU": 2}}
    desk.do(put(server(1), both))
    desk.tell(1, 1)
    desk.later()
    desk.tell(2, 1)
    desk.tell(1)


def test_what_an_evacuated_instance_left_is_repaired_once_its_host_is_back() -> None:
    desk = AuditDesk()
    evacuated(desk)
    (new,) = desk.findings()
    assert (new.host, new.repair) == ("h1", ""), "one list is not enough"
    assert "look again later" in new.detail
    desk.later()
    desk.tell(2, 1)
    desk.tell(1)
    (found,) = desk.findings()
    assert (found.kind, found.host) == ("no_workload", "h1")
    assert found.repair == "remove its allocations here"
    assert "h2 does, and it has allocations there" in found.detail
    assert found.allocations == {uuid_of(1): {"VCPU": 2}}
    assert undone(desk, c.Repair(found, TERMS))
    desk.repair(found)
    assert (desk.used(1), desk.used(2)) == ({}, {"VCPU": 2})
    assert desk.findings() == ()


def test_a_list_that_is_too_old_does_not_say_where_it_is() -> None:
    desk = AuditDesk()
    evacuated(desk)
    desk.later()
    desk.later(TERMS.fresh_us)
    desk.tell(1)
    found = next(one for one in desk.findings() if one.host == "h1")
    assert (found.repair, "h2 does, or did last" in found.detail) == ("", True)
    desk.refusal(c.Repair(replace(found, repair="remove it"), TERMS), Conflict)
