"""Cells and devices of hosts whose agents list instances: an agent counts amounts, but
not what of cells and devices is whose."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from gantt.errors import ClaimLost, NotFree
from gantt.model import commands as c
from gantt.model.hosts import HostStats, Instance
from gantt.model.topology import (
    TYPE_PF,
    Device,
    Fit,
    FittedCell,
    HostCell,
    HostTopology,
    InstanceCell,
    Pages,
    Pool,
    TakenDevices,
    Wanted,
)
from gantt.placement import fleet_news
from gantt.placement.rules import agent_reports
from gantt.state.check_fleet import fleet_problems
from gantt.topology.host_remainder import take
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server, uuid_of
from tests.placement.rules.test_topology_claims import (
    NIC,
    SECOND,
    WITH_NIC,
    cells,
    desk_of,
    named,
    pinned,
    saved,
)
from tests.placement.rules.test_topology_ends import MIGRATION, allocated, fills
from tests.reported import report_of

ADDRESSES = ("0000:81:00.1", "0000:81:00.2")


def pools(*there: str) -> list[dict[str, Any]]:
    pool = {**NIC, "count": len(there), "numa_node": 0}
    return [{**pool, "devices": [{"address": one} for one in there]}]


def agent(
    desk: FleetDesk, sequence: int, *, at: int | None = None, **fields: Any
) -> None:
    """The report ``sequence`` of the agent on host 1; the first one is full."""
    facts: dict[str, Any] = {}
    if sequence == 1:
        facts = {
            "vcpus": 64,
            "memory_mb": 65_536,
            "local_gb": 999,
            "numa_topology": cells(),
            "pci_stats": pools(*ADDRESSES),
            "obeys_claims": True,
            "cpu_allocation_ratio": 1.0,
        }
    said = report_of(
        "h1",
        sequence,
        HostStats(**{**facts, **fields}),
        node="n1",
        taken_at=desk.now if at is None else at,
        full=sequence == 1,
    )
    options = c.UpdateHost("", "", HostStats(), "")
    found = desk.do(
        agent_reports.command_of(said, options, "", new_provider_uuid=uuid_of(1))
    )
    assert found.outcome == "applied"


def heartbeat(desk: FleetDesk, sequence: int) -> None:
    """The agent says that nothing has changed, in a later second."""
    desk.now += 5 * SECOND
    said = report_of("h1", sequence, node="n1", taken_at=desk.now, full=False)
    options = c.UpdateHost("", "", HostStats(), "")
    assert desk.do(agent_reports.command_of(said, options, "")).outcome == "unchanged"


def moved(desk: FleetDesk, number: int) -> None:
    """A conductor gives the allocations of the instance to the migration."""
    away = allocated(server(number), generation=1)
    desk.do(c.SetAllocations((allocated(MIGRATION, 1), away)))


@pytest.fixture
def desk() -> FleetDesk:
    desk = desk_of()
    agent(desk, 1)
    return desk


def test_a_device_in_use_is_not_promised_again(desk: FleetDesk) -> None:
    """It stays in the list of the kernel's devices while a guest has it."""
    desk.do(claim("one", on(1, 1), wanted=WITH_NIC))
    agent(desk, 2, instances=(server(1),))
    (fit,) = desk.do(claim("two", on(2, 1), wanted=WITH_NIC)).fits
    agent(desk, 3, instances=(server(1), server(2)))
    agent(desk, 4, free_ram_mb=1)
    desk.refusal(claim("three", on(3, 1), wanted=WITH_NIC), ClaimLost)
    desk.do(c.ReleaseClaim("one"))
    (found,) = desk.do(claim("three", on(3, 1), wanted=WITH_NIC)).fits
    assert found != fit


@pytest.mark.parametrize("is_counted", [False, True])
def test_pinned_cpus_stay_taken_whether_a_report_counts_them(
    desk: FleetDesk, is_counted: bool
) -> None:
    (fit,) = desk.do(pinned("one", on(1, 1))).fits
    cpus = [cpu for _, cpu in fit.cells[0].pinning] if is_counted else []
    agent(desk, 2, instances=(server(1),), numa_topology=cells(*cpus))
    desk.do(pinned("two", on(2, 1)))
    assert not fills(desk)
    desk.do(c.ReleaseClaim("two"))
    assert fills(desk)


def test_amounts_of_a_running_instance_count_once(desk: FleetDesk) -> None:
    hosts = desk.state.fleet.hosts
    desk.do(pinned("one", on(1, 1)))
    before = int(hosts.num_instances[0]), int(hosts.vcpus_used[0])
    agent(desk, 2, instances=(server(1),), running_vms=1, vcpus_used=2)
    assert before[0] == 1
    assert (int(hosts.claimed_instances[0]), int(hosts.claimed_vcpus[0])) == (0, 0)
    (row,) = desk.claims()
    assert row.is_running and row.leased_until is None


def test_a_resize_on_its_host_keeps_what_it_was_promised(desk: FleetDesk) -> None:
    """The next report lists the instance as it was before."""
    desk.do(pinned("one", on(1, 1)))
    agent(desk, 2, instances=(server(1),))
    desk.do(pinned("resize", on(1, 1)))
    agent(desk, 3, instances=(server(1),), free_ram_mb=1)
    assert not fills(desk)


def test_reports_of_an_agent_are_in_sequence_whatever_its_clock_says(
    desk: FleetDesk,
) -> None:
    agent(desk, 2, at=desk.now - 60 * SECOND, numa_topology=cells(0, 1))
    (cell, _) = desk.state.fleet.hosts.reported[0].cells
    assert cell.pinned == 0b11


def test_a_late_report_does_not_say_whether_a_host_obeys() -> None:
    desk = desk_of(obeys_claims=True)
    now = report(1, cpu_allocation_ratio=1.0, obeys_claims=False)
    late = report(1, cpu_allocation_ratio=1.0, obeys_claims=True)
    desk.do(c.UpdateHost(**{**_fields(now), "saved_at": 20 * SECOND}))
    desk.do(c.UpdateHost(**{**_fields(late), "saved_at": 10 * SECOND}))
    assert not desk.state.fleet.hosts.obeys(0)


def _fields(command: c.UpdateHost) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}


def test_a_pool_that_begins_to_name_its_devices_gives_none_twice() -> None:
    """The claim was made of a count: which of the named ones it has is not known."""
    tags: dict[str, Any] = {"dev_type": "type-VF"}
    taken = Fit(devices=(TakenDevices("r", 1, 0, tags),))
    known = HostTopology(pools=(Pool(1, 0, tags),))
    assert take(known, taken).pools == ()
    (pool,) = HostTopology(pools=(Pool(1, 0, tags),)).pools or ()
    named = HostTopology(pools=(_named(pool),))
    with pytest.raises(NotFree):
        take(named, taken)


def _named(pool: Pool) -> Pool:
    return Pool(pool.count, pool.numa_node, pool.tags, None, (Device(ADDRESSES[0]),))


def test_a_forced_instance_keeps_a_closed_host_closed() -> None:
    """What it takes there is not known."""
    desk = desk_of(obeys_claims=True)
    desk.do(pinned("one", on(1, 1)))
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells(0)))
    assert desk.state.fleet.hosts.promises[0].left.is_closed
    desk.do(pinned("forced", on(2, 1), must_fit=False))
    (forced,) = [row for row in desk.claims() if row.claim == "forced"]
    assert forced.topology is not None


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("how", ["update", "sync"])
def test_what_is_named_to_the_service_is_counted_by_no_agent(
    desk: FleetDesk, how: str, is_listed: bool
) -> None:
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    if is_listed:
        agent(desk, 2, instances=(server(1), server(2)))
    desk.now += 5 * SECOND
    if how == "update":
        desk.do(named(1), named(2))
    else:
        desk.do(c.SyncInstances("h1", (server(1), server(2))))
    for _ in range(2):
        heartbeat(desk, 2 if is_listed else 1)
        assert not fills(desk)
    assert all(row.is_running for row in desk.claims())
    desk.do(c.SyncInstances("h1", (server(1), server(2))))
    assert not fills(desk)
    desk.do(c.DeleteAllocations(server(1)))
    assert fills(desk)


@pytest.mark.parametrize("is_listed", [False, True])
def test_an_instance_that_moves_keeps_its_place_as_long_as_its_migration(
    desk: FleetDesk, is_listed: bool
) -> None:
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    if is_listed:
        agent(desk, 2, instances=(server(1), server(2)))
    moved(desk, 1)
    heartbeat(desk, 2 if is_listed else 1)
    heartbeat(desk, 2 if is_listed else 1)
    assert not fills(desk)
    desk.do(c.DeleteAllocations(MIGRATION))
    assert fills(desk)
    assert [row.claim for row in desk.claims()] == ["two"]


def test_a_migration_that_is_reverted_gives_the_place_back(desk: FleetDesk) -> None:
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    agent(desk, 2, instances=(server(1), server(2)))
    moved(desk, 1)
    back = allocated(MIGRATION, generation=1)
    desk.do(c.SetAllocations((allocated(server(1), 1), back)))
    heartbeat(desk, 2)
    assert not fills(desk)
    desk.do(c.DeleteAllocations(server(1)))
    assert fills(desk)


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("how", ["allocations", "instance", "release"])
def test_a_resize_on_its_host_leaks_nothing(
    desk: FleetDesk, is_listed: bool, how: str
) -> None:
    desk.do(pinned("one", on(1, 1)))
    if is_listed:
        agent(desk, 2, instances=(server(1),))
    else:
        desk.do(named(1))
    desk.do(pinned("resize", on(1, 1)))
    agent(desk, 2 + is_listed, instances=(server(1),))
    heartbeat(desk, 2 + is_listed)
    assert not fills(desk)
    if how == "allocations":
        desk.do(c.DeleteAllocations(server(1)))
    elif how == "instance":
        desk.do(c.DeleteInstance("h1", server(1)))
    else:
        desk.do(c.ReleaseClaim("one"), c.ReleaseClaim("resize"))
    assert not desk.claims()


@pytest.mark.parametrize("is_moved", [False, True])
def test_what_runs_outlives_a_host_that_was_promised_with_it(is_moved: bool) -> None:
    """Its claim has an instance on another host, which is deleted."""
    desk = desk_of(2)
    agent(desk, 1)
    desk.do(pinned("some", on(1, 1), on(2, 2), leased_for_us=60 * SECOND))
    desk.do(pinned("other", on(3, 1)))
    agent(desk, 2, instances=(server(1), server(3)))
    if is_moved:
        moved(desk, 1)
    used = desk.used()
    desk.do(c.DeleteHost("h2", "n2"))
    assert desk.used() == used and not desk.used(2)
    assert sorted(row.claim for row in desk.claims()) == ["other", "some"]
    assert not fills(desk)


def test_a_claim_of_no_amounts_ends_like_any_other() -> None:
    desk = desk_of()
    nothing = {"vcpus": 0, "memory_mb": 0, "disk_mb": 0}
    desk.do(pinned("one", on(1, 1, size={}), **nothing))
    at = desk.now // SECOND
    desk.do(named(1, at), saved(1, at + 1))
    assert not desk.claims()


def test_what_runs_stays_where_it_is_on_a_host_that_stops_to_obey(
    desk: FleetDesk,
) -> None:
    (fit,) = desk.do(pinned("one", on(1, 1))).fits
    mine = [cpu for _, cpu in fit.cells[0].pinning]
    agent(desk, 2, instances=(server(1),))
    agent(desk, 3, obeys_claims=False, numa_topology=cells(*mine))
    assert fills(desk), "its CPUs are counted once"
    others = [cpu for cpu in range(4) if cpu not in mine]
    agent(desk, 4, numa_topology=cells(*others))
    assert not fills(desk)


def test_a_host_that_picks_for_itself_counts_no_devices() -> None:
    desk = desk_of()
    agent(desk, 1, obeys_claims=False)
    desk.do(claim("one", on(1, 1), on(2, 1), wanted=WITH_NIC))
    agent(desk, 2, instances=(server(1), server(2)))
    desk.refusal(claim("three", on(3, 1), wanted=WITH_NIC), ClaimLost)
    desk.do(c.DeleteAllocations(server(1)), claim("three", on(3, 1), wanted=WITH_NIC))


@pytest.mark.parametrize(
    ("size", "used", "left"),
    [
        (4, 3, (997 - 512, 97)),
        (2048, 3, (997, 97)),
        (2048, 1, (999, 98)),
        (2048, 0, (1000, 98)),
    ],
)
def test_pages_of_what_runs_stay_taken(
    size: int, used: int, left: tuple[int, int]
) -> None:
    """A host counts the huge ones that were touched, whosever they are."""
    pages = (Pages(4, 1000, used), Pages(2048, 100, used))
    host = HostTopology((HostCell(0, 1, 0, 4096, pages=pages),))
    memory = 4 if size > 4 else 2
    mine = FittedCell(InstanceCell(0, 1, 0, memory, page_kib=size), 0, page_kib=size)
    (cell,) = take(host, Fit((mine,)), may_be_counted=True).cells
    assert tuple(one.free for one in cell.pages) == left


def test_pages_are_not_promised_between_the_list_and_the_touch(desk: FleetDesk) -> None:
    """All of the cells, to two instances; a third one waits for one of them to end."""
    wanted = Wanted((InstanceCell(0, 0b1, 0, 2048, page_kib=2048),))

    def told(used: int) -> dict[str, Any]:
        sizes = ((4, 524_288, 0), (2048, 1024, used))
        pages = [
            {"size_kb": kib, "total": total, "used": one, "reserved": 0}
            for kib, total, one in sizes
        ]
        found = cells()
        for one in found["cells"]:
            one.update(mempages=pages, cpuset=one["pcpuset"])
        return found

    agent(desk, 2, numa_topology=told(0))
    asked = {"wanted": wanted}
    desk.do(claim("one", on(1, 1), **asked), claim("two", on(2, 1), **asked))
    desk.refusal(claim("three", on(3, 1), **asked), ClaimLost)
    for number, used in enumerate((0, 700, 1024), start=3):
        agent(
            desk,
            number,
            instances=(server(1), server(2)),
            numa_topology=told(used),
        )
        desk.refusal(claim("three", on(3, 1), **asked), ClaimLost)
    desk.do(c.DeleteAllocations(server(1)))
    agent(desk, 6, instances=(server(2),), numa_topology=told(0))
    desk.do(claim("three", on(3, 1), **asked))


def test_what_is_linked_to_a_device_in_use_is_taken_wherever_it_is_listed() -> None:
    """The device may be listed no longer, or in another pool."""
    pf, one, two = "0000:81:00.0", *ADDRESSES
    tags: dict[str, Any] = {"dev_type": "type-VF"}
    taken = Fit(devices=(TakenDevices("r", 1, 0, tags, None, (Device(one, pf),)),))
    pfs = Pool(1, 0, {"dev_type": TYPE_PF}, None, (Device(pf),))
    vfs = Pool(1, 1, tags, None, (Device(two, pf),))
    assert take(HostTopology(pools=(pfs, vfs)), taken, may_be_counted=True).pools == (
        vfs,
    )
    other = Pool(2, 1, tags, None, (Device(one), Device(two)))
    (left,) = take(HostTopology(pools=(other,)), taken, may_be_counted=True).pools or ()
    assert (left.count, left.devices) == (1, (Device(two),))


def test_a_compute_counts_what_an_agent_without_cells_lists() -> None:
    """The agent reports what runs, and Nova's compute the cells and devices."""
    nics = pools(*ADDRESSES)
    desk = desk_of(pci_stats=nics)
    desk.do(claim("one", on(1, 1), on(2, 1), wanted=WITH_NIC))
    desk.do(named(1))
    untold: dict[str, Any] = {"pci_stats": UNSET, "obeys_claims": UNSET}
    agent(desk, 1, instances=(server(1),), numa_topology=None, **untold)
    heartbeat(desk, 1)
    assert [row.is_running for row in desk.claims()] == [True, False]
    at = desk.now // SECOND
    desk.do(saved(1, at + 5, pci_stats=pools(ADDRESSES[1])))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    desk.refusal(claim("three", on(3, 1), wanted=WITH_NIC), ClaimLost)


def test_what_runs_is_no_news_of_the_feed(desk: FleetDesk) -> None:
    said = (Instance(server(1)),)
    desk.do(pinned("one", on(1, 1)))
    assert fleet_news.instances(desk.state, said, "h1")
    agent(desk, 2, instances=(server(1),))
    assert not fleet_news.instances(desk.state, said, "h1")


def test_a_claim_that_is_left_makes_way_for_whatever_has_its_name(
    desk: FleetDesk,
) -> None:
    desk.do(pinned("one", on(1, 1)), named(1), pinned("resize", on(1, 1)))
    (left,) = [row for row in desk.claims() if row.claim == "one"]
    choices = on(1, 1, size={}).choices
    desk.do(claim("other", c.InstanceClaim(left.instance_uuid, choices)))
    assert len({row.instance_uuid for row in desk.claims()}) == 3
    assert not tuple(fleet_problems(desk.state))
