"""The audit as a pure question: what is found, and what is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.errors import Conflict
from gantt.model import commands as c
from gantt.placement.audit_queries import audit
from tests.placement.audit_desk import LATER, TERMS, AuditDesk
from tests.placement.desk import put
from tests.placement.fleet_desk import (
    SIZE,
    FleetDesk,
    claim,
    on,
    server,
    uuid_of,
)
from tests.placement.fleet_desk import report as host_report
from tests.placement.rules.test_topology_claims import cells, pinned


def test_a_fleet_that_agrees_has_no_findings() -> None:
    desk = AuditDesk()
    desk.do(claim("one", on(1, 1)), c.ConfirmClaim("one"))
    desk.later()
    desk.tell(1, 1)
    desk.tell(2)
    found = desk.audit()
    assert (found.findings, found.counts) == ((), {})
    assert (found.hosts, found.listing, found.is_truncated) == (2, 2, False)


def test_the_first_list_of_a_host_repairs_nothing() -> None:
    desk = AuditDesk(1)
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.tell(1, lists_instances=False)
    desk.later()
    desk.tell(1)
    assert [one.repair for one in desk.findings()] == [""]
    desk.later(LATER, 1)
    assert [one.repair for one in desk.findings()] != [""]


def test_only_reports_of_agents_make_a_list_newer() -> None:
    desk = AuditDesk(1)
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later(TERMS.fresh_us + 1)
    desk.do(host_report(1, free_ram_mb=77))
    assert (desk.host(1).stats["free_ram_mb"], desk.audit().listing) == (77, 0)
    desk.tell_unchanged(1, unread=("instances",))
    assert desk.audit().listing == 0, "its agent did not see what runs"
    desk.tell_unchanged(1)
    assert (desk.audit().listing, len(desk.findings())) == (1, 1)


def test_a_clock_that_is_ahead_makes_no_list_newer() -> None:
    desk = AuditDesk(1)
    desk.now += LATER
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    now = desk.now
    desk.tell(1, taken_at=now + 10 * TERMS.grace_us)
    assert desk.findings() == ()


def test_grace_counts_from_the_list() -> None:
    """What was allocated after the list was made cannot be in it."""
    desk = AuditDesk(1)
    desk.later()
    desk.tell(1)
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later()
    assert (desk.findings(), desk.audit().listing) == ((), 1)


def test_young_and_leased_claims_are_not_found() -> None:
    desk = AuditDesk()
    desk.do(claim("young", on(1, 1)), c.ConfirmClaim("young"))
    desk.do(claim("leased", on(2, 2), leased_for_us=10**9))
    assert desk.findings() == ()
    desk.later(LATER, 1, 2)
    assert [one.claim for one in desk.findings()] == ["young"]


def test_only_a_fresh_list_says_that_something_does_not_run() -> None:
    desk = AuditDesk()
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later(LATER, 1, 2)
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
    desk.later(LATER, 1)
    assert [one.instance_uuid for one in desk.findings()] == [server(2)]


def test_a_class_that_was_taken_away_is_no_drift() -> None:
    desk = AuditDesk(1)
    desk.do(c.DeleteInventory(uuid_of(1), "DISK_GB"))
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


def test_findings_are_limited_and_counted() -> None:
    desk = AuditDesk()
    desk.tell(1, 1, 2, 3)
    desk.later(LATER, 1)
    found = desk.audit(replace(TERMS, limit=2))
    assert (len(found.findings), found.is_truncated) == (2, True)
    assert found.counts == {"no_claim": 3}


def test_kinds_and_hosts_are_chosen_before_the_limit() -> None:
    desk = AuditDesk()
    desk.tell(1, 1, 2, 3)
    desk.tell(2, 4)
    desk.later(LATER, 1, 2)
    one = replace(TERMS, limit=1)
    (found,) = desk.audit(replace(one, host="h2")).findings
    assert found.instance_uuid == server(4)
    desk.do(c.PutInventory(uuid_of(2), "VCPU", c.Inventory(6)))
    drift = desk.audit(replace(one, kinds=("inventory_drift",)))
    assert (drift.counts, drift.is_truncated) == ({"inventory_drift": 1}, False)


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


def test_an_instance_that_ended_in_order_is_forgotten_at_once() -> None:
    desk = AuditDesk()
    desk.tell(1, 1, 2)
    desk.tell(1, 2, lists_instances=False)
    assert desk.host(1).instances == (server(1), server(2)), "the list is not whole"
    desk.tell(1, 1, 2)
    desk.tell(1, 2)
    assert desk.host(1).instances == (server(2),)
    assert desk.state.fleet.instances.by_uuid.keys() == {server(2)}


def test_a_moved_instance_keeps_its_name_at_the_other_host() -> None:
    desk = AuditDesk()
    desk.tell(1, 1)
    desk.tell(2, 1)
    desk.tell(1)
    assert desk.host(2).instances == (server(1),)
    desk.later(LATER, 2)
    assert desk.findings()[0].kind == "no_claim"


def test_a_claim_that_can_give_nothing_back_is_found() -> None:
    """Another writer changed its allocations, and no host names the instance."""
    desk = AuditDesk(1)
    desk.do(claim("one", on(1, 1), leased_for_us=50), claim("two", on(2, 1)))
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    assert desk.findings() == ()
    desk.later(LATER)
    assert desk.do(c.ExpireClaims()) == 0
    (found,) = [one for one in desk.findings() if one.kind == "claim_changed"]
    assert (found.host, found.claim, found.repair) == ("h1", "one", "")
    assert found.instance_uuid == server(1)
    assert found.allocations == {uuid_of(1): {"VCPU": 1}}
    desk.refusal(c.Repair(found, TERMS), Conflict)
    desk.do(c.DeleteAllocations(server(1)))
    assert not [one for one in desk.findings() if one.kind == "claim_changed"]


def test_a_claim_whose_instance_runs_is_no_leak() -> None:
    """An agent's host does not tell whose its CPUs are: such a claim stays."""
    desk = AuditDesk(1)
    desk.tell(1, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1)))
    desk.tell(1, 1, numa_topology=cells(0, 1), obeys_claims=True)
    assert [row.is_running for row in desk.claims()] == [True]
    desk.do(put(server(1), {uuid_of(1): {"VCPU": 1}}))
    desk.later(LATER)
    desk.tell(1, 1, numa_topology=cells(0, 1), obeys_claims=True)
    assert desk.findings() == ()
