"""Hosts that are deleted and come back: what was promised of their cells and devices
is promised again, because what runs there still runs."""

from __future__ import annotations

from typing import Any

import pytest

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.rows import NO_HOST
from gantt.state.check_fleet import fleet_problems
from tests.placement.audit_desk import ALLOWED, LATER, AuditDesk
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
from tests.placement.rules.test_topology_agents import agent, heartbeat, moved
from tests.placement.rules.test_topology_claims import (
    SECOND,
    WITH_NIC,
    cells,
    desk_of,
    pinned,
    saved,
)
from tests.placement.rules.test_topology_ends import MIGRATION, allocated

GONE = c.DeleteHost("h1", "n1")


def sound(desk: FleetDesk) -> bool:
    return not tuple(fleet_problems(desk.state))


def choice(desk: FleetDesk, number: int, name: str = "h1") -> c.InstanceClaim:
    """The instance on the host ``name``, whose id is another once it is back."""
    table = desk.state.fleet.hosts
    (row,) = table.rows_of(name)
    return c.InstanceClaim(server(number), (c.Choice(int(table.id[row]), {}),))


def fills(desk: FleetDesk, name: str = "h1") -> bool:
    """Whether one more instance fits the host beside what is promised there."""
    try:
        desk.do(pinned("probe", choice(desk, 99, name)))
    except ClaimLost:
        return False
    desk.do(c.ReleaseClaim("probe"))
    return True


@pytest.fixture
def desk() -> FleetDesk:
    """An agent's host, of which two instances have all CPUs."""
    desk = desk_of()
    agent(desk, 1)
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    return desk


def back(desk: FleetDesk, *running: str, **more: Any) -> None:
    """The agent reports in full, as one that has just started."""
    free = {"free_ram_mb": 65_536, "free_disk_gb": 999}
    agent(desk, 1, instances=running, uuid=uuid_of(1), **free, **more)


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("is_rewritten", [False, True])
def test_what_runs_is_promised_again(
    desk: FleetDesk, is_listed: bool, is_rewritten: bool
) -> None:
    if is_listed:
        agent(desk, 2, instances=(server(1), server(2)))
    if is_rewritten:  # as a client of Placement may
        desk.do(c.SetAllocations((allocated(server(1), 1, generation=1),)))
    fits = [row.topology for row in desk.claims() if is_listed]
    assert undone(desk, GONE)
    desk.do(GONE)
    assert {row.host_id for row in desk.claims()} == {NO_HOST}
    back(desk, server(1), server(2))
    assert all(row.is_running for row in desk.claims())
    assert [row.topology for row in desk.claims() if is_listed] == fits
    for _ in range(2):
        heartbeat(desk, 1)
        assert not fills(desk)
    assert sound(desk)
    desk.do(c.DeleteAllocations(server(1)))
    assert fills(desk)


def test_a_list_that_is_not_whole_frees_nothing(desk: FleetDesk) -> None:
    desk.do(GONE)
    back(desk)
    assert not fills(desk)
    agent(desk, 2, instances=(server(1), server(2)))
    assert not fills(desk)
    assert all(row.is_running for row in desk.claims())


def test_another_name_of_the_machine_has_its_claims(desk: FleetDesk) -> None:
    desk.do(GONE)
    facts = {"numa_topology": cells(), "uuid": uuid_of(1), "obeys_claims": True}
    desk.do(report(2, cpu_allocation_ratio=1.0, **facts))
    assert not fills(desk, "h2") and sound(desk)


@pytest.mark.parametrize("how", ["allocations", "release", "away"])
def test_what_ended_while_the_host_was_away_is_free(desk: FleetDesk, how: str) -> None:
    desk.do(GONE)
    if how == "allocations":
        desk.do(c.DeleteAllocations(server(1)))
    elif how == "release":
        desk.do(c.ReleaseClaim("one"))
    else:
        desk.do(report(2, cpu_allocation_ratio=1.0))
        elsewhere = allocated(server(1), 2, generation=1)
        desk.do(c.SetAllocations((elsewhere,)))
    assert [row.claim for row in desk.claims()] == ["two"]
    back(desk, server(2))
    assert fills(desk) and sound(desk)


def test_allocations_that_are_written_again_meanwhile_end_nothing(
    desk: FleetDesk,
) -> None:
    desk.do(GONE)
    desk.do(c.SetAllocations((allocated(server(1), 1, generation=1),)))
    back(desk, server(1), server(2))
    assert not fills(desk)


def test_an_instance_that_another_host_names_keeps_what_it_has_there(
    desk: FleetDesk,
) -> None:
    """It was started elsewhere, and its first host still runs it."""
    desk.do(GONE)
    desk.do(c.SyncInstances("other", (server(1),)))
    back(desk, server(1), server(2))
    assert not fills(desk)
    desk.do(c.DeleteAllocations(server(1)))
    assert fills(desk)


def test_a_claim_elsewhere_leaves_what_the_lost_host_may_still_run(
    desk: FleetDesk,
) -> None:
    """An evacuation: allocations on both until the host is back and cleaned up."""
    desk.do(report(2, cpu_allocation_ratio=1.0, numa_topology=cells()))
    desk.do(GONE)
    (row,) = desk.state.fleet.hosts.rows_of("h2")
    there = c.Choice(int(desk.state.fleet.hosts.id[row]), {uuid_of(2): SIZE})
    desk.do(pinned("evacuated", c.InstanceClaim(server(1), (there,))))
    back(desk, server(1), server(2))
    assert not fills(desk) and sound(desk)
    desk.do(c.SetAllocations((allocated(server(1), 2, generation=2),)))
    assert fills(desk)


@pytest.mark.parametrize("is_after", [False, True])
def test_what_a_migration_keeps_is_kept(desk: FleetDesk, is_after: bool) -> None:
    agent(desk, 2, instances=(server(1), server(2)))
    if is_after:
        desk.do(GONE)
    moved(desk, 1)
    if not is_after:
        desk.do(GONE)
    back(desk, server(1), server(2))
    assert not fills(desk)
    desk.do(c.DeleteAllocations(MIGRATION))
    assert fills(desk) and sound(desk)


def test_devices_are_promised_again() -> None:
    desk = desk_of()
    agent(desk, 1)
    desk.do(claim("one", on(1, 1), wanted=WITH_NIC))
    agent(desk, 2, instances=(server(1),))
    desk.do(GONE)
    back(desk, server(1))
    desk.do(claim("two", choice(desk, 2), wanted=WITH_NIC))
    desk.refusal(claim("three", choice(desk, 3), wanted=WITH_NIC), ClaimLost)


def test_a_compute_of_nova_counts_them_once_it_is_back() -> None:
    desk = desk_of(uuid=uuid_of(1))
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.do(GONE)
    at = desk.now // SECOND
    desk.do(saved(1, at, numa_topology=cells(), uuid=uuid_of(1)))
    assert not fills(desk)
    desk.do(c.SyncInstances("h1", (server(1), server(2))))
    desk.do(saved(1, at + 60, numa_topology=cells(0, 1), uuid=uuid_of(1)))
    assert not desk.claims()
    assert fills(desk)


def test_a_lease_ends_with_its_host(desk: FleetDesk) -> None:
    desk.do(c.DeleteAllocations(server(1)))
    desk.do(pinned("leased", on(3, 1), leased_for_us=60 * SECOND))
    desk.do(GONE)
    assert [row.claim for row in desk.claims()] == ["two"]
    back(desk, server(2))
    assert fills(desk)


def test_a_repair_ends_what_a_migration_kept_with_its_allocations() -> None:
    """Until then the claim is no finding of its own."""
    desk = AuditDesk()
    desk.tell(1, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1)))
    desk.tell(1, 1)
    moved(desk, 1)
    desk.do(GONE)
    desk.later(LATER)
    (found,) = desk.findings(ALLOWED)
    assert (found.instance_uuid, found.provider_uuid) == (MIGRATION, uuid_of(1))
    desk.repair(found)
    assert not desk.claims() and not desk.findings(ALLOWED)


def test_a_repair_ends_the_claim_of_a_lost_host() -> None:
    desk = AuditDesk()
    desk.tell(1, numa_topology=cells(), obeys_claims=True)
    desk.do(pinned("one", on(1, 1)))
    desk.tell(1, 1)
    desk.do(c.SetAllocations((allocated(server(1), 1, generation=1),)))
    desk.do(GONE)
    desk.later(LATER)
    (found,) = desk.findings(ALLOWED)
    assert (found.instance_uuid, found.claim) == (server(1), "one")
    desk.repair(found)
    assert not desk.claims() and not desk.used()
