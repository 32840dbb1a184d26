"""Claims on cells, CPUs and devices: fitted again at the commit, and counted once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import ClaimExpired, ClaimLost
from gantt.model import commands as c
from gantt.model.hosts import Instance
from gantt.model.topology import DeviceRequest, InstanceCell, Wanted
from gantt.placement.fleet_queries import claim_projects
from tests.placement.fleet_desk import (
    FleetDesk,
    claim,
    moving,
    on,
    report,
    server,
    undone,
)
from tests.scheduler.small_cells import cell_of

SECOND = 1_000_000
PINNED = Wanted((InstanceCell(0, 0, 0b11, 1024, policy="dedicated"),))
NIC: dict[str, Any] = {"vendor_id": "8086", "product_id": "154d", "dev_type": "type-VF"}
WITH_NIC = Wanted(devices=(DeviceRequest("r", 1, (NIC,)),))


def cell(number: int, cpus: range, pinned: tuple[int, ...] = ()) -> dict[str, Any]:
    return cell_of(number, cpus, pinned, memory=4096)


def cells(*pinned: int) -> dict[str, Any]:
    """Two cells of two CPUs."""
    two = (range(2), range(2, 4))
    return {
        "cells": [
            cell(number, cpus, tuple(one for one in cpus if one in pinned))
            for number, cpus in enumerate(two)
        ]
    }


def desk_of(hosts: int = 1, **facts: Any) -> FleetDesk:
    return FleetDesk(hosts, numa_topology=cells(), **facts)


def pinned(name: str, *instances: c.InstanceClaim, **more: Any) -> c.Claim:
    return claim(name, *instances, **{"wanted": PINNED, **more})


def saved(number: int, at: int, **facts: Any) -> c.UpdateHost:
    """A report that the feed read: of a row that Nova wrote at second ``at``."""
    found = report(number, cpu_allocation_ratio=1.0, **facts)
    return replace(found, saved_at=at * SECOND)


def named(number: int, at: int | None = None) -> c.UpdateInstances:
    """Host 1 has the instance since second ``at``."""
    when = None if at is None else at * SECOND
    return c.UpdateInstances("h1", (Instance(server(number), saved_at=when),))


def test_the_committer_fits_again_what_others_left() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    words = desk.refusal(pinned("three", on(3, 1)), ClaimLost)
    assert "the topology no longer fits (1, first host h1)" in words
    assert len(desk.claims()) == 2


def test_instances_of_one_command_see_each_other() -> None:
    desk = desk_of(2)
    found = desk.do(pinned("one", *(on(number, 1, 2) for number in range(1, 5))))
    assert found.taken == (0, 0, 1, 1)
    assert found.fits == (None,) * 4


def test_a_host_that_obeys_is_told_what_to_use() -> None:
    desk = desk_of(obeys_claims=True)
    found = desk.do(pinned("one", on(1, 1), on(2, 1)))
    used = [one.cells[0].pinning for one in found.fits if one is not None]
    assert used == [((0, 0), (1, 1)), ((0, 2), (1, 3))]
    desk.do(c.ReleaseClaim("one"))


def test_what_is_named_stays_binding_on_newer_reports() -> None:
    desk = desk_of(obeys_claims=True)
    (first,) = desk.do(pinned("one", on(1, 1))).fits
    assert first is not None
    # The CPUs of the claim turn out to be used: nothing more is promised here.
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells(0)))
    desk.refusal(pinned("two", on(2, 1)), ClaimLost)
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells()))
    assert desk.do(pinned("two", on(2, 1))).fits[0] != first


def test_a_claim_is_given_back_whole() -> None:
    desk = desk_of()
    before = desk.state.fleet.hosts.promises[0].left
    assert undone(desk, pinned("one", on(1, 1), on(2, 1)))
    desk.do(pinned("one", on(1, 1)))
    desk.do(c.ReleaseClaim("one"))
    assert desk.state.fleet.hosts.promises[0].left == before


def test_a_claim_that_is_replaced_makes_room_for_itself() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1), leased_for_us=60 * SECOND), pinned("two", on(2, 1)))
    desk.do(pinned("three", on(1, 1)))
    desk.refusal(pinned("four", on(3, 1)), ClaimLost)


def test_a_claim_that_is_replaced_may_be_what_a_report_contains() -> None:
    """Use rose by what one of them wants, and which is not told."""
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)))
    desk.do(pinned("two", on(2, 1), leased_for_us=60 * SECOND))
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells(0, 1)))
    assert [row.is_counted for row in desk.claims()] == [True, False]
    desk.refusal(pinned("three", on(2, 1)), ClaimLost)


def test_an_instance_that_moves_on_leaves_its_claim_until_it_is_counted() -> None:
    """It was launched, and its host has not said so when it is moved or resized."""
    desk = desk_of(2)
    desk.do(pinned("one", on(1, 1), on(2, 1)))
    desk.do(moving(pinned("move", on(1, 2)), 1))
    desk.refusal(pinned("other", on(3, 1)), ClaimLost)
    assert len(desk.claims()) == 3
    at = desk.now // SECOND
    desk.do(saved(1, at))
    assert len(desk.claims()) == 3
    desk.do(saved(1, at + 1))
    assert [row.claim for row in desk.claims()] == ["one", "move"]
    desk.do(c.UpdateInstances("h2", (Instance(server(1)),)))
    assert undone(desk, pinned("again", on(1, 2)))
    desk.do(pinned("again", on(1, 2)))
    desk.refusal(pinned("other", on(3, 2)), ClaimLost)


def test_what_an_instance_left_behind_is_of_its_project_and_not_confirmed() -> None:
    desk = desk_of(2)
    desk.do(pinned("one", on(1, 1)))
    desk.do(moving(pinned("move", on(1, 2)), 1))
    assert claim_projects(desk.state, "one") == {"project"}
    desk.refusal(c.ConfirmClaim("one"), ClaimExpired)


def test_devices_are_taken_once() -> None:
    desk = desk_of(pci_stats=[{**NIC, "count": 2, "numa_node": 0}])
    desk.do(claim("one", on(1, 1), on(2, 1), wanted=WITH_NIC))
    desk.refusal(claim("two", on(3, 1), wanted=WITH_NIC), ClaimLost)


def test_between_the_instance_and_the_report_the_claim_is_pending() -> None:
    """Nova writes the instance's row, stops, and then writes the report."""
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)))
    at = desk.now // SECOND + 10
    desk.do(named(1, at))
    assert [row.counted_at for row in desk.claims()] == [at * SECOND]
    # Within the same second nothing tells which was first.
    desk.do(saved(1, at, numa_topology=cells()))
    assert len(desk.claims()) == 1
    desk.do(pinned("two", on(2, 1)))
    desk.refusal(pinned("three", on(3, 1)), ClaimLost)
    desk.do(saved(1, at + 1, numa_topology=cells(0, 1)))
    assert [row.instance_uuid for row in desk.claims()] == [server(2)]
    desk.refusal(pinned("three", on(3, 1)), ClaimLost)


def test_the_report_may_be_read_before_the_instance() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)))
    at = desk.now // SECOND + 10
    desk.do(saved(1, at + 1, numa_topology=cells(0, 1)))
    # It is counted twice for a while, never not at all.
    assert len(desk.claims()) == 1
    desk.do(named(1, at))
    assert not desk.claims()
    desk.do(pinned("two", on(2, 1)))


def test_a_report_that_lists_the_instance_counts_it() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)))
    desk.do(report(1, numa_topology=cells(0, 1), instances=(server(1),)))
    assert not desk.claims()


def test_a_report_without_news_ends_what_was_named() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)), named(1))
    assert len(desk.claims()) == 1
    desk.now += 2 * SECOND
    desk.do(report(1, cpu_allocation_ratio=1.0))
    assert not desk.claims()


def test_an_instance_that_was_there_before_is_counted_by_what_comes_after() -> None:
    """It is resized on its host: its row was there already."""
    desk = desk_of()
    desk.do(named(1, 1))
    desk.now += 5 * SECOND
    desk.do(pinned("one", on(1, 1)))
    desk.do(named(1, 2), named(1), c.SyncInstances("h1", (server(1),)))
    assert [row.counted_at for row in desk.claims()] == [None]
    at = desk.now // SECOND + 3
    desk.do(named(1, at), saved(1, at + 1))
    assert not desk.claims()


@pytest.mark.parametrize("how", ["release", "expiry", "deletion", "host"])
def test_claims_end_as_ever(how: str) -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1), leased_for_us=SECOND))
    desk.now += 9 * SECOND
    desk.do(
        {
            "release": c.ReleaseClaim("one"),
            "expiry": c.ExpireClaims(),
            "deletion": c.DeleteInstance("h1", server(1)),
            "host": c.DeleteHost("h1", "n1"),
        }[how]
    )
    assert not desk.claims()
    if how != "host":
        desk.do(pinned("two", on(2, 1), on(3, 1)))
