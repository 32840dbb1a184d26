"""Pending claims in the answer about a host's topology: what they take, and of whom."""

from __future__ import annotations

from gantt.model import commands as c
from gantt.model.topology_view import HostTopologyView
from gantt.placement.topology_answer import host_topology
from tests.placement.fleet_desk import FleetDesk, on, report, server
from tests.placement.rules.test_topology_claims import (
    NIC,
    WITH_NIC,
    cells,
    desk_of,
    pinned,
)


def view_of(desk: FleetDesk) -> HostTopologyView:
    return host_topology(desk.state, "h1", "n1")


def test_pending_claims_are_shown_with_what_they_take() -> None:
    desk = desk_of(obeys_claims=True)
    desk.do(pinned("one", on(1, 1)))
    view = view_of(desk)
    (one,) = view.pending
    assert (one.claim, one.instance_uuid) == ("one", server(1))
    assert (one.is_binding, one.cells, one.cpus) == (True, (0,), (0, 1))
    assert (one.devices, one.lack, view.is_closed) == (0, None, False)
    first, second = view.cells
    assert (first.claimed_cpus, first.free_cpus) == ((0, 1), ())
    assert (first.memory_claimed_mb, second.memory_claimed_mb) == (1024, 0)
    assert second.free_cpus == (2, 3)
    desk.do(c.ReleaseClaim("one"))
    assert view_of(desk).pending == ()


def test_a_compute_of_nova_picks_for_itself() -> None:
    desk = desk_of(pci_stats=[{**NIC, "count": 3}])
    desk.do(pinned("one", on(1, 1), wanted=WITH_NIC))
    view = view_of(desk)
    (one,) = view.pending
    assert (one.is_binding, one.devices, one.addresses) == (False, 1, ())
    (pool,) = view.pools or ()
    assert (pool.free, pool.claimed) == (2, 1)


def test_claims_that_do_not_fit_the_report_are_named() -> None:
    desk = desk_of()
    desk.do(pinned("one", on(1, 1)), pinned("two", on(2, 1)))
    desk.do(report(1, cpu_allocation_ratio=1.0, numa_topology=cells(0)))
    view = view_of(desk)
    assert [one.lack for one in view.pending] == [
        None,
        "cell 0 has 1 of 2 free pinned CPUs",
    ]
    assert view.is_closed
    assert [cell.free_cpus for cell in view.cells] == [(), ()]
