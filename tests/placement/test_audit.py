"""The audit as a pure question, and repairs as rules: each found, each undone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import Conflict
from gantt.model import commands as c
from gantt.model.audit import Audit, AuditTerms, Finding
from gantt.model.hosts import HostStats
from gantt.model.reports import Report
from gantt.placement.audit import audit
from gantt.placement.rules.agent_reports import command_of
from tests.placement.desk import put
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    on,
    server,
    undone,
    uuid_of,
)

TERMS = AuditTerms(fresh_us=10_000, grace_us=100)
LATER = 5_000
HOST = {"vcpus": 8, "memory_mb": 8192, "local_gb": 100}


class AuditDesk(FleetDesk):
    """Hosts whose agents list what runs on them."""

    def __init__(self, hosts: int = 2) -> None:
        super().__init__()
        self.do(c.SyncNames(("VCPU", "MEMORY_MB", "DISK_GB", "PCPU"), ()))
        self._sequence = 0
        for number in range(1, hosts + 1):
            self.tell(number)

    def tell(self, number: int, *instances: int, **more: Any) -> None:
        """The agent of a host reports these instances."""
        self._sequence += 1
        fields: dict[str, Any] = {
            **HOST,
            "cpu_allocation_ratio": 1.0,
            "instances": tuple(map(server, instances)),
            "lists_instances": True,
            **more,
        }
        report = Report(
            host=f"h{number}",
            node=f"n{number}",
            incarnation="agent",
            sequence=self._sequence,
            taken_at=self.now,
            full=True,
            fields=HostStats(**fields),
        )
        update = c.UpdateHost("", "", HostStats(), new_provider_uuid="")
        uuid = uuid_of(number)
        self.do(command_of(report, update, "", new_provider_uuid=uuid))

    def audit(self, terms: AuditTerms = TERMS) -> Audit:
        return audit(self.state, self.now, terms)

    def findings(self, terms: AuditTerms = TERMS) -> tuple[Finding, ...]:
        return self.audit(terms).findings

    def later(self, us: int = LATER) -> None:
        self.now += us

    def repair(self, finding: Finding) -> Any:
        return self.do(c.Repair(finding, TERMS))


def test_a_fleet_that_agrees_has_no_findings() -> None:
    desk = AuditDesk()
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.later()
    desk.tell(1, 1)
    desk.tell(2)
    found = desk.audit()
    assert (found.findings, found.counts) == ((), {})
    assert (found.hosts, found.listing, found.is_truncated) == (2, 2, False)


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
    (found,) = desk.findings()
    assert (found.kind, found.claim) == ("no_workload", "")
    desk.repair(found)
    assert (desk.used(1), desk.host(1).instances) == ({}, ())


def test_an_instance_that_moved_keeps_what_it_has_elsewhere() -> None:
    desk = AuditDesk()
    both = {uuid_of(1): {"VCPU": 1}, uuid_of(2): {"VCPU": 2}}
    desk.do(put(server(1), both))
    desk.later()
    desk.tell(2, 1)
    desk.tell(1)
    (found,) = desk.findings()
    assert (found.host, found.allocations) == ("h1", {uuid_of(1): {"VCPU": 1}})
    assert "h2 does" in found.detail
    generation = desk.consumer(server(1)).generation
    desk.repair(found)
    assert (desk.used(1), desk.used(2)) == ({}, {"VCPU": 2})
    assert desk.consumer(server(1)).generation == generation + 1
    assert desk.host(2).instances == (server(1),)


def test_young_and_leased_claims_are_not_found() -> None:
    desk = AuditDesk()
    desk.do(claim("young", on(1, 1)), c.ConfirmClaim("young"))
    desk.do(claim("leased", on(2, 2), leased_for_us=10**9))
    assert desk.findings() == ()
    desk.later()
    assert [one.claim for one in desk.findings()] == ["young"]


def test_only_a_fresh_list_says_that_something_does_not_run() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later()
    assert len(desk.findings()) == 1
    desk.tell(1, lists_instances=False)
    assert (desk.findings(), desk.audit().listing) == ((), 1)
    desk.tell(1)
    assert len(desk.findings()) == 1
    desk.later(TERMS.fresh_us + 1)
    assert (desk.findings(), desk.audit().listing) == ((), 0)


def test_other_consumers_than_instances_are_not_found() -> None:
    desk = AuditDesk()
    there = {uuid_of(1): {"VCPU": 1}}
    desk.do(put(server(1), there, consumer_type="MIGRATION"))
    desk.do(put(server(2), there, consumer_type="INSTANCE"))
    desk.later()
    assert [one.instance_uuid for one in desk.findings()] == [server(2)]


def test_what_runs_unclaimed_is_found_and_is_not_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(2), {uuid_of(2): {"VCPU": 1}}))
    desk.tell(1, 1, 2)
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


def test_an_inventory_that_was_reshaped_is_no_drift() -> None:
    desk = AuditDesk(1)
    child = "22222222-2222-4222-8222-222222222222"
    desk.do(
        c.CreateProvider(child, "cell", uuid_of(1)),
        c.DeleteInventory(uuid_of(1), "VCPU"),
        c.PutInventory(child, "PCPU", c.Inventory(5)),
        c.PutInventory(child, "VCPU", c.Inventory(3)),
    )
    assert desk.findings() == ()
    desk.do(c.PutInventory(child, "PCPU", c.Inventory(4)))
    (found,) = desk.findings()
    assert (found.booked, found.repair) == (7, "")


def test_allocations_of_a_host_that_is_gone_are_found_and_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(claim("two", on(2, 1)), c.ConfirmClaim("two"))
    desk.do(c.DeleteHost("h1", "n1"))
    desk.later()
    lost, plain = sorted(desk.findings(), key=lambda one: one.claim == "")
    assert (lost.kind, lost.instance_uuid, lost.claim) == (
        "host_gone",
        server(2),
        "two",
    )
    assert (plain.instance_uuid, plain.provider_uuid) == (server(1), uuid_of(1))
    assert plain.allocations == {uuid_of(1): {"VCPU": 1}}
    desk.repair(lost)
    assert desk.findings() == (plain,)
    desk.repair(plain)
    assert (desk.findings(), desk.used(1), desk.claims()) == ((), {}, [])


def test_what_was_lost_and_runs_elsewhere_is_not_repaired() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.do(c.DeleteHost("h1", "n1"))
    desk.tell(2, 1)
    desk.later()
    gone = next(one for one in desk.findings() if one.kind == "host_gone")
    assert "runs on h2" in gone.detail and gone.repair == ""
    desk.refusal(c.Repair(replace(gone, repair="remove it"), TERMS), Conflict)


def test_providers_that_are_no_hosts_are_left_alone() -> None:
    desk = AuditDesk()
    pool = "22222222-2222-4222-8222-222222222222"
    desk.do(
        c.CreateProvider(pool, "pool"),
        c.PutInventory(pool, "DISK_GB", c.Inventory(100)),
        put(server(1), {pool: {"DISK_GB": 1}}),
    )
    desk.later()
    assert desk.findings() == ()
    alone = FleetDesk()
    alone.do(
        c.CreateProvider(pool, "compute"),
        c.PutInventory(pool, "VCPU", c.Inventory(100)),
        put(server(1), {pool: {"VCPU": 1}}),
    )
    alone.now += LATER
    assert audit(alone.state, alone.now, TERMS).findings == ()


def test_a_repair_of_what_changed_is_refused() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later()
    (found,) = desk.findings()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 2}}))
    desk.later()
    assert "ask for the audit again" in desk.refusal(c.Repair(found, TERMS), Conflict)
    desk.tell(1, 1)
    desk.refusal(c.Repair(found, TERMS), Conflict)
    unknown = replace(found, host="h9")
    desk.refusal(c.Repair(unknown, TERMS), Conflict)


def test_findings_are_limited_and_counted() -> None:
    desk = AuditDesk()
    desk.tell(1, 1, 2, 3)
    found = desk.audit(replace(TERMS, limit=2))
    assert (len(found.findings), found.is_truncated) == (2, True)
    assert found.counts == {"no_claim": 3}


def test_others_have_their_turn_between_hosts() -> None:
    """Also when they delete what was to be looked at."""
    desk = AuditDesk(5)
    rests: list[int] = []

    def rest() -> None:
        rests.append(1)
        if len(rests) == 2:
            desk.do(c.DeleteHost("h5", "n5"))

    audit(desk.state, desk.now, TERMS, rest)
    assert len(rests) >= 5


@pytest.mark.parametrize("field", ["vcpus", "memory_mb", "local_gb"])
def test_what_a_host_has_no_longer_is_no_drift(field: str) -> None:
    desk = AuditDesk(1)
    desk.do(put(server(1), {uuid_of(1): SIZE}))
    desk.tell(1, 1, **{field: 0})
    assert desk.findings() == ()
