"""Claims that a report counts by its own numbers, in the order in which Nova writes.

A compute saves the instance's row (its host), then its own row with what it uses, and
then the instance's row again and again while it builds; its own row comes next with the
periodic task, about a minute later.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.topology import DeviceRequest, Wanted
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server
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


def pools(free: int, **more: Any) -> list[dict[str, Any]]:
    """Nova leaves out a pool of which nothing is free."""
    pool = {**NIC, "numa_node": 0, **more}
    return [{**pool, "count": free}] if free else []


def desk_with(free: int) -> FleetDesk:
    return desk_of(pci_stats=pools(free))


def nic(instance: int, *, name: str = "") -> c.Claim:
    return claim(name or f"nic-{instance}", on(instance, 1, size={}), wanted=WITH_NIC)


def fits(desk: FleetDesk, probe: c.Claim) -> bool:
    """Whether one more is placed beside what is promised; it is given back."""
    try:
        desk.do(probe)
    except ClaimLost:
        return False
    desk.do(c.ReleaseClaim(probe.claim))
    return True


def room(desk: FleetDesk) -> int:
    """How many more devices would be promised."""
    found = 0
    while found < 9:
        try:
            desk.do(nic(900 + found, name=f"probe-{found}"))
        except ClaimLost:
            break
        found += 1
    for number in range(found):
        desk.do(c.ReleaseClaim(f"probe-{number}"))
    return found


def counted(desk: FleetDesk) -> list[str]:
    """Instances whose claim a report contains, though it has not ended."""
    return [row.instance_uuid for row in desk.claims() if row.is_counted]


# -- the order of events of Nova -------------------------------------------------------


def test_the_second_device_is_free_as_soon_as_the_first_is_counted() -> None:
    """Two devices, one server; two seconds later another server asks."""
    desk = desk_with(2)
    desk.do(nic(1))
    at = desk.now // SECOND + 1
    # The compute's claim: both rows in one second. The instance builds: its row again.
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(1)), named(1, at + 3))
    assert fits(desk, nic(2))
    desk.do(nic(2))
    desk.refusal(nic(3), ClaimLost)
    # The periodic task says nothing new of devices.
    desk.now += 55 * SECOND
    desk.do(saved(1, at + 55))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    desk.refusal(nic(3), ClaimLost)


def test_an_instance_of_devices_alone_counts_until_it_is_named() -> None:
    """It takes no amounts, so that being named changes nothing else of its claim."""
    desk = desk_with(2)
    desk.do(replace(nic(1), vcpus=0, memory_mb=0, disk_mb=0))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(1)))
    assert desk.host().claimed["instances"] == 1
    desk.do(named(1, at + 3))
    assert counted(desk) == [server(1)]
    assert desk.host().claimed["instances"] == 0


def test_the_last_pinned_cpus_are_free_as_soon_as_the_first_are_counted() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, numa_topology=cells(0, 1)), named(1, at + 3))
    desk.do(pinned("two", on(2, 1)))
    desk.refusal(pinned("three", on(3, 1)), ClaimLost)


def test_a_host_is_not_closed_by_what_its_report_contains() -> None:
    """The claim that is counted would not fit the report again."""
    desk = desk_of(pci_stats=pools(1))
    desk.do(nic(1))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=[]), named(1, at + 3))
    assert not desk.state.fleet.hosts.promises[0].left.is_closed
    desk.do(pinned("two", on(2, 1)))


@pytest.mark.parametrize("is_named_first", [False, True])
def test_row_and_instance_come_in_either_order(is_named_first: bool) -> None:
    desk = desk_with(2)
    desk.do(nic(1))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    both = [saved(1, at, pci_stats=pools(1)), named(1, at)]
    desk.do(*(reversed(both) if is_named_first else both))
    assert room(desk) == 1
    (row,) = desk.claims()
    assert row.is_counted
    assert (row.vcpus, row.memory_mb, row.disk_mb) == (0, 0, 0)
    desk.do(saved(1, at + 1))
    assert not desk.claims()


def test_agents_and_other_reporters_are_read_in_the_same_way() -> None:
    """They say no time, and list nothing."""
    desk = desk_with(2)
    desk.do(nic(1))
    desk.do(report(1, pci_stats=pools(1)))
    assert counted(desk) == [server(1)]
    assert room(desk) == 1


# -- which claim it is -----------------------------------------------------------------


def test_of_two_alike_one_is_counted() -> None:
    desk = desk_with(3)
    desk.do(nic(1), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(2)))
    assert counted(desk) == [server(1)]
    assert room(desk) == 1
    desk.do(saved(1, at + 1, pci_stats=pools(1)))
    assert counted(desk) == [server(1), server(2)]
    assert room(desk) == 1


def test_an_increase_is_used_once() -> None:
    desk = desk_with(3)
    desk.do(nic(1), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    for again in (0, 0, 1, 2):
        desk.do(saved(1, at + again, pci_stats=pools(2), vcpus_used=again))
    assert counted(desk) == [server(1)]
    assert room(desk) == 1


def test_the_younger_one_was_counted_and_ends_first() -> None:
    """Its device was taken for the older one's: that one is promised its own again."""
    desk = desk_with(3)
    desk.do(nic(1), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 9 * SECOND
    desk.do(saved(1, at, pci_stats=pools(2)), named(2, at))
    assert counted(desk) == [server(1)]
    desk.do(saved(1, at + 3))
    assert [row.instance_uuid for row in desk.claims()] == [server(1)]
    assert counted(desk) == []
    assert room(desk) == 1
    desk.do(saved(1, at + 4, pci_stats=pools(1)))
    assert room(desk) == 1


def test_the_younger_one_was_counted_and_is_deleted() -> None:
    desk = desk_with(2)
    desk.do(nic(1), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 9 * SECOND
    desk.do(saved(1, at, pci_stats=pools(1)), named(2, at))
    desk.do(c.DeleteInstance("h1", server(2)))
    desk.do(saved(1, at + 3, pci_stats=pools(2)))
    assert room(desk) == 1


def test_one_starts_while_another_ends() -> None:
    """The count is the same: the promise stays until the instance is named, and a row
    saved after it."""
    desk = desk_with(2)
    desk.do(saved(1, 0, pci_stats=pools(1)))
    desk.do(nic(1))
    at = desk.now // SECOND + 1
    desk.now += 9 * SECOND
    desk.do(saved(1, at, pci_stats=pools(1), vcpus_used=1))
    assert counted(desk) == []
    assert room(desk) == 0
    desk.do(named(1, at + 2))
    assert room(desk) == 0
    desk.do(saved(1, at + 3))
    assert not desk.claims()
    assert room(desk) == 1


def test_cpus_of_one_that_ends_hide_one_that_starts() -> None:
    desk = desk_of()
    desk.do(saved(1, 0, numa_topology=cells(0, 1)))
    desk.do(pinned("one", on(1, 1)))
    at = desk.now // SECOND + 1
    desk.now += 9 * SECOND
    desk.do(saved(1, at, numa_topology=cells(0, 1), vcpus_used=1))
    assert counted(desk) == []
    desk.refusal(pinned("two", on(2, 1)), ClaimLost)
    desk.do(named(1, at), saved(1, at + 1))
    desk.do(pinned("two", on(2, 1)))


def test_a_row_that_was_saved_before_the_claim_does_not_contain_it() -> None:
    desk = desk_with(3)
    at = desk.now // SECOND
    desk.do(nic(1))
    desk.do(saved(1, at - 1, pci_stats=pools(2)))
    assert counted(desk) == []
    assert room(desk) == 1


def test_an_older_row_of_the_same_second_comes_late() -> None:
    """Two processes read the database: one increase is not seen twice."""
    desk = desk_with(3)
    desk.do(nic(1), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    older, newer = (saved(1, at, pci_stats=pools(free)) for free in (3, 2))
    for one in (newer, older, newer):
        desk.do(one)
    assert room(desk) == 1


def test_a_lease_outlasts_what_the_report_contains() -> None:
    """Which of two alike was counted is not known: the other's caller may be gone."""
    desk = desk_with(3)
    asked = claim("one", on(1, 1), wanted=WITH_NIC, leased_for_us=20 * SECOND)
    desk.do(asked, nic(2))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(2)), named(2, at))
    assert counted(desk) == [server(1)]
    desk.now += 60 * SECOND
    desk.do(c.ExpireClaims())
    assert desk.used() == {}
    desk.do(saved(1, at + 1))
    assert not desk.claims()
    assert room(desk) == 2


# -- what looks like use and is none ---------------------------------------------------


def test_a_vf_that_is_taken_takes_its_pf_along() -> None:
    """Where both are asked for, counts do not tell which of them was."""
    function = {**NIC, "dev_type": "type-PF", "product_id": "1572"}
    both = [*pools(4), {**function, "count": 1, "numa_node": 0}]
    desk = desk_of(pci_stats=both)
    whole = Wanted(devices=(DeviceRequest("p", 1, (function,)),))
    desk.do(claim("pf", on(1, 1, size={}), wanted=whole), nic(2))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(3)))
    assert counted(desk) == []
    desk.do(c.ReleaseClaim("pf"))
    assert room(desk) == 2


def test_one_that_alone_asks_for_a_pf_and_a_vf_has_what_rose() -> None:
    """Beside one that asks for a device of another kind, too."""
    function = {**NIC, "dev_type": "type-PF", "product_id": "1572"}
    card = {**NIC, "dev_type": "type-PCI", "product_id": "10fb"}

    def left(pfs: int, vfs: int, cards: int) -> list[dict[str, Any]]:
        return [
            *pools(vfs),
            *pools(pfs, dev_type="type-PF", product_id="1572"),
            *pools(cards, dev_type="type-PCI", product_id="10fb"),
        ]

    desk = desk_of(pci_stats=left(1, 3, 2))
    asked = (DeviceRequest("p", 1, (function,)), DeviceRequest("v", 1, (NIC,)))
    other = Wanted(devices=(DeviceRequest("c", 1, (card,)),))
    desk.do(
        claim("both", on(1, 1, size={}), wanted=Wanted(devices=asked)),
        claim("card", on(2, 1, size={}), wanted=other),
    )
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=left(0, 2, 2)))
    assert counted(desk) == [server(1)]
    assert room(desk) == 2


def test_pools_that_are_named_anew_are_not_used() -> None:
    desk = desk_with(2)
    desk.do(nic(1))
    at = desk.now // SECOND + 1
    desk.now += 4 * SECOND
    desk.do(saved(1, at, pci_stats=pools(2, physical_network="physnet1")))
    assert counted(desk) == []
    assert room(desk) == 1
