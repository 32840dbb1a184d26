"""When claims on cells and devices end, and what must not end them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimLost
from gantt.model import commands as c
from gantt.model.commands import ConsumerAllocations
from gantt.model.hosts import Instance
from gantt.model.request_identity import RequestIdentity
from gantt.model.topology import DeviceRequest, Wanted
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
from tests.placement.rules.test_topology_claims import (
    NIC,
    PINNED,
    SECOND,
    WITH_NIC,
    cell,
    cells,
    desk_of,
    named,
    pinned,
    saved,
)

MIGRATION = "66666666-5555-4555-8555-000000000001"


def allocated(
    uuid: str, *hosts: int, generation: int | None = None
) -> ConsumerAllocations:
    shares = {uuid_of(number): SIZE for number in hosts}
    return ConsumerAllocations(uuid, shares, "project", "user", generation)


def fills(desk: FleetDesk) -> bool:
    """Whether one more instance fits the host beside what is promised there."""
    try:
        desk.do(pinned("probe", on(99, 1, size={})))
    except ClaimLost:
        return False
    desk.do(c.ReleaseClaim("probe"))
    return True


def full_desk(hosts: int = 1) -> FleetDesk:
    """Two confirmed claims, for all that host 1 has."""
    desk = desk_of(hosts)
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    assert not fills(desk)
    return desk


# -- allocations that are written ------------------------------------------------------


def test_instance_that_moves_stays_promised_until_it_is_counted() -> None:
    """A conductor gives its allocations to the migration, and then asks for a host."""
    desk = full_desk(2)
    move = c.SetAllocations(
        (allocated(MIGRATION, 1), allocated(server(1), generation=1))
    )
    assert undone(desk, move)
    desk.do(move)
    assert not fills(desk)
    (left,) = [row for row in desk.claims() if row.claim == "one"]
    assert left.instance_uuid != server(1)
    assert (left.counted_at, left.leased_until) == (left.updated_at, None)
    desk.do(pinned("move", on(1, 2)))
    assert not fills(desk)
    at = desk.now // SECOND
    desk.do(saved(1, at))
    assert not fills(desk)
    desk.do(saved(1, at + 1, numa_topology=cells()))
    assert fills(desk)
    assert sorted(row.claim for row in desk.claims()) == ["move", "two"]


def test_instance_leaves_a_host_twice_before_a_report_counts_it_once() -> None:
    """Both stay promised, and no claim has the instance of another."""
    desk = desk_of(3)
    asked = RequestIdentity("request")
    for name, place in (("first", 1), ("second", 2), ("third", 1)):
        both = pinned(name, on(1, place), on(2, 3), identity=asked)
        desk.do(both, c.UpdateInstances(f"h{place}", (Instance(server(1)),)))
    left = [row for row in desk.claims() if row.held_by == server(1)]
    assert [row.host_id for row in left] == [1, 2]
    assert len({row.instance_uuid for row in desk.claims()}) == len(desk.claims())
    desk.do(pinned("fourth", on(1, 2), on(2, 3), identity=asked))
    assert len(desk.claims()) == 5
    assert len({row.instance_uuid for row in desk.claims()}) == len(desk.claims())


@pytest.mark.parametrize(
    "write",
    [
        c.DeleteAllocations(server(1)),
        c.SetAllocations((allocated(server(1), generation=1),)),
        c.SetAllocations((allocated(server(1), 2, generation=1),)),
        c.SetAllocations((allocated(server(1), generation=1), allocated(MIGRATION, 2))),
    ],
    ids=["delete", "put-nothing", "put-elsewhere", "post-elsewhere"],
)
def test_allocations_that_are_gone_give_back_cells(write: c.Command[object]) -> None:
    desk = full_desk(2)
    desk.do(write)
    assert fills(desk)


@pytest.mark.parametrize("how", ["put", "reshape"])
def test_allocations_that_stay_in_the_tree_keep_the_claim(how: str) -> None:
    desk = full_desk()
    if how == "put":
        desk.do(c.SetAllocations((allocated(server(1), 1, generation=1),)))
    else:
        child = "77777777-1111-4111-8111-000000000001"
        desk.do(c.CreateProvider(child, "child", uuid_of(1)))
        moved = ConsumerAllocations(server(1), {child: SIZE}, "project", "user", 1)
        stock = {name: c.Inventory(9_999) for name in SIZE}
        desk.do(
            c.Reshape(
                (
                    c.ReshapedProvider(child, 0, stock),
                    c.ReshapedProvider(uuid_of(1), generation(desk), stock),
                ),
                (moved,),
            )
        )
    assert not fills(desk)


def test_devices_that_a_reshape_moves_are_promised_by_their_new_provider() -> None:
    old, new = (f"77777777-1111-4111-8111-00000000000{one}" for one in "12")
    desk = FleetDesk(1, pci_stats=[{**NIC, "count": 2, "rp_uuid": old}])
    desk.do(
        c.CreateProvider(old, "old", uuid_of(1)),
        c.CreateProvider(new, "new", uuid_of(1)),
        c.CreateResourceClass("CUSTOM_NIC"),
        c.SetInventories(old, {"CUSTOM_NIC": c.Inventory(2)}),
    )
    nic = DeviceRequest("r", 1, (NIC,), is_of_flavor=True)
    mappings: dict[str, tuple[str, ...]] = {"": (uuid_of(1),), "r-0": (old,)}
    amounts = {uuid_of(1): SIZE, old: {"CUSTOM_NIC": 1}}
    choice = c.Choice(1, amounts, {"r-0": (old,)}, mappings)
    one = c.InstanceClaim(server(1), (choice,))
    identity = RequestIdentity("request")
    desk.do(
        replace(claim("one", one, wanted=Wanted(devices=(nic,))), identity=identity)
    )
    moved = {uuid_of(1): SIZE, new: {"CUSTOM_NIC": 1}}
    desk.do(
        c.Reshape(
            (
                c.ReshapedProvider(old, generation(desk, old), {}),
                c.ReshapedProvider(new, 0, {"CUSTOM_NIC": c.Inventory(2)}),
            ),
            (ConsumerAllocations(server(1), moved, "project", "user", 1),),
        )
    )
    pools = [{**NIC, "count": 2, "rp_uuid": new}]
    desk.do(report(1, cpu_allocation_ratio=1.0, pci_stats=pools))
    left = desk.state.fleet.hosts.promises[0].left
    assert not left.is_closed
    assert [pool.count for pool in left.host.pools or ()] == [1]


def generation(desk: FleetDesk, provider: str = "") -> int:
    found = desk.state.providers.find(provider or uuid_of(1))
    assert found is not None
    return found.generation


def test_lease_of_an_instance_that_its_host_names_ends() -> None:
    """As that of any claim: it was launched, whatever became of its caller."""
    desk = desk_of()
    desk.do(pinned("one", on(1, 1), leased_for_us=SECOND), pinned("two", on(2, 1)))
    desk.do(named(1))
    (row,) = [row for row in desk.claims() if row.claim == "one"]
    assert row.leased_until is None
    desk.do(c.ConfirmClaim("one", SECOND))
    desk.now += 9 * SECOND
    desk.do(c.ExpireClaims())
    assert not fills(desk)
    assert desk.used() == {name: 2 * amount for name, amount in SIZE.items()}
    desk.do(report(1, numa_topology=cells(0, 1), instances=(server(1),)))
    assert [row.claim for row in desk.claims()] == ["two"]


# -- reports out of order --------------------------------------------------------------


def test_late_report_does_not_take_back_what_a_newer_one_counts() -> None:
    desk = full_desk()
    at = desk.now // SECOND + 10
    late = saved(1, at, numa_topology=cells())
    desk.do(named(1, at), named(2, at))
    newer = saved(1, at + 5, numa_topology=cells(0, 1, 2, 3))
    desk.do(newer)
    assert not desk.claims()
    for again in (late, newer, late):
        desk.do(again)
        assert not fills(desk)
    desk.do(saved(1, at + 6, numa_topology=cells(0, 1)))
    assert fills(desk)


def test_late_report_holds_for_all_but_cells_and_devices() -> None:
    """The clock of another conductor may be some seconds behind."""
    desk = desk_of()
    desk.do(saved(1, 30, numa_topology=cells(0, 1, 2, 3)))
    desk.do(saved(1, 25, numa_topology=cells(), vcpus_used=3))
    assert desk.host().stats["vcpus_used"] == 3
    assert not fills(desk)
    desk.do(saved(1, 29, numa_topology=cells()))
    assert not fills(desk)


def test_clock_that_was_set_back_is_followed() -> None:
    desk = desk_of()
    at = desk.now // SECOND + 10
    desk.do(saved(1, at + 86_400, numa_topology=cells(0, 1, 2, 3)))
    desk.do(saved(1, at, numa_topology=cells()))
    assert fills(desk)
    desk.do(pinned("one", on(1, 1)))
    desk.do(named(1, at + 1))
    assert len(desk.claims()) == 1
    desk.do(saved(1, at + 2))
    assert not desk.claims()


def test_report_that_was_read_before_the_claim_does_not_count_it() -> None:
    """The clock that stamped it is ahead."""
    desk = desk_of()
    at = desk.now // SECOND
    early = saved(1, at + 30, numa_topology=cells(2, 3))
    desk.do(early)
    desk.now += SECOND
    desk.do(pinned("one", on(1, 1)))
    desk.now += SECOND
    desk.do(named(1, at + 2), early)
    assert len(desk.claims()) == 1
    desk.do(saved(1, at + 33, numa_topology=cells(0, 1, 2, 3)))
    assert not desk.claims()


def test_clock_that_is_behind_ends_nothing_early() -> None:
    desk = desk_of()
    at = desk.now // SECOND - 60
    desk.do(pinned("one", on(1, 1)))
    desk.do(named(1, at), saved(1, at + 5, numa_topology=cells()))
    assert len(desk.claims()) == 1
    desk.do(report(1, numa_topology=cells(0, 1), instances=(server(1),)))
    assert not desk.claims()


def test_report_that_lists_others_does_not_count_an_instance_by_its_time() -> None:
    """It was made before the instance was there, and came late."""
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.do(named(1), named(2))
    desk.now += 5 * SECOND
    desk.do(report(1, numa_topology=cells(0, 1), instances=(server(1),)))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    desk.do(report(1, instances=(server(1), server(2))))
    assert not desk.claims()


# -- hosts that change under claims ----------------------------------------------------


def without_cell() -> dict[str, Any]:
    return {"cells": [cell(1, range(2, 4))]}


def without_cpu() -> dict[str, Any]:
    return {"cells": [cell(0, range(1)), cell(1, range(2, 4))]}


@pytest.mark.parametrize("obeys", [False, True])
@pytest.mark.parametrize(
    "facts",
    [
        {"numa_topology": without_cell()},
        {"numa_topology": without_cpu()},
        {"numa_topology": None},
    ],
    ids=["cell", "cpu", "all"],
)
def test_host_that_loses_what_it_promised_gets_nothing_more(
    facts: dict[str, Any], obeys: bool
) -> None:
    desk = desk_of(obeys_claims=obeys)
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.do(report(1, **facts))
    desk.do(c.ReleaseClaim("two"))
    # What is left of Nova's host may do for one; one that obeys named what is gone.
    is_fitted = not obeys and facts["numa_topology"] is not None
    assert desk.state.fleet.hosts.promises[0].left.is_closed != is_fitted
    assert not fills(desk)
    desk.do(report(1, numa_topology=cells()))
    assert fills(desk)


@pytest.mark.parametrize("obeys", [False, True])
def test_device_that_is_gone_is_taken_for_the_one_promised(obeys: bool) -> None:
    """Removed or used, a report does not say."""
    addresses = ["0000:81:00.1", "0000:81:00.2"]

    def pools(*there: str) -> list[dict[str, Any]]:
        pool = {**NIC, "count": len(there), "numa_node": 0}
        return [{**pool, "devices": [{"address": one} for one in there]}]

    desk = desk_of(pci_stats=pools(*addresses), obeys_claims=obeys)
    (fit,) = desk.do(claim("one", on(1, 1), wanted=WITH_NIC)).fits
    taken = addresses[0] if fit is None else fit.devices[0].devices[0].address
    desk.do(report(1, pci_stats=pools(*(one for one in addresses if one != taken))))
    desk.do(claim("two", on(2, 1), wanted=WITH_NIC))
    desk.refusal(claim("three", on(3, 1), wanted=WITH_NIC), ClaimLost)
    desk.do(c.ReleaseClaim("two"), claim("three", on(3, 1), wanted=WITH_NIC))


@pytest.mark.parametrize("obeys", [False, True])
@pytest.mark.parametrize("lost", ["cells", "devices"])
def test_host_that_loses_one_kind_gives_of_the_other(lost: str, obeys: bool) -> None:
    """Which cells or devices the claim will take is unknown, but it takes no other
    kind."""
    pools = [{**NIC, "count": 2, "numa_node": None}]
    desk = desk_of(pci_stats=pools, obeys_claims=obeys)
    with_device = claim("device", on(1, 1), wanted=WITH_NIC)
    desk.now += 9 * SECOND
    desk.do(pinned("one", on(2, 1)), with_device)
    if lost == "cells":
        desk.do(pinned("two", on(3, 1)), report(1, numa_topology=without_cell()))
    else:
        # Of before the claims: others use them.
        desk.do(saved(1, 1, pci_stats=[]))
    assert desk.state.fleet.hosts.promises[0].left.is_closed
    asked = {
        "cells": pinned("probe", on(9, 1)),
        "devices": claim("probe", on(9, 1), wanted=WITH_NIC),
    }
    both = replace(PINNED, devices=WITH_NIC.devices)
    desk.refusal(asked.pop(lost), ClaimLost)
    desk.refusal(claim("probe", on(9, 1), wanted=both), ClaimLost)
    (other,) = asked.values()
    desk.do(other)


def test_host_that_stops_to_obey_fits_its_claims_again() -> None:
    desk = desk_of(obeys_claims=True)
    desk.now += 9 * SECOND
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.do(report(1, obeys_claims=False), c.ReleaseClaim("one"))
    # Of before the claims: others use these.
    desk.do(saved(1, 1, numa_topology=cells(2, 3)))
    assert not fills(desk)
    desk.do(c.ReleaseClaim("two"))
    assert fills(desk)


def test_deleted_provider_keeps_what_its_host_promised() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1, size={})), pinned("two", on(2, 1, size={})))
    desk.do(c.DeleteProvider(uuid_of(1)))
    assert len(desk.claims()) == 2
    assert not fills(desk)
