"""A host's cells and devices as an answer: the values of its report, no masks."""

from __future__ import annotations

import pytest

from gantt.errors import NotFound
from gantt.model.topology import (
    LARGE_PAGES,
    DeviceRequest,
    Fit,
    HostTopology,
    InstanceCell,
    Wanted,
)
from gantt.model.topology_view import HostTopologyView, PagesView
from gantt.placement.topology_answer import cells_view, host_topology, pools_view
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.placement.fleet_desk import FleetDesk, report
from tests.topology import synthetic


def shown(**stats: object) -> HostTopologyView:
    desk = FleetDesk()
    desk.do(report(1, **stats))
    return host_topology(desk.state, "h1", "n1")


def test_cells_are_shown_as_reported() -> None:
    view = shown(**synthetic.nova_form(synthetic.four_cells()))
    assert [(cell.id, cell.socket) for cell in view.cells] == [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 1),
    ]
    first, second, *_ = view.cells
    assert second.shared_cpus == (8, 40)
    assert second.pinned_cpus == (9, 41)
    assert second.pinnable_cpus == tuple(sorted({*second.free_cpus, 9, 41}))
    assert second.cores[:2] == ((8, 40), (9, 41))
    assert second.pages[1] == PagesView(2048, 16_384, 512, 0, 0, 15_872)
    assert (second.shared_vcpus_used, second.memory_used_mb) == (1, 1024)
    assert (first.physical_networks, first.is_tunnelled) == (("physnet0",), True)
    assert not second.is_tunnelled
    assert view.updated_at is not None


def test_devices_have_addresses_where_the_host_names_them() -> None:
    cards = synthetic.graphics_cards()
    view = shown(**synthetic.plain_form(cards))
    assert view.pools is not None
    assert {(pool.free, pool.numa_node) for pool in view.pools} == {
        (1, 0),
        (1, 1),
        (1, None),
    }
    assert all(pool.addresses == (pool.tags["address"],) for pool in view.pools)
    assert all(pool.provider_uuid for pool in view.pools)
    counts = shown(**synthetic.nova_form(cards)).pools
    assert [pool.addresses for pool in counts or ()] == [()] * 4


def test_a_host_may_report_neither() -> None:
    view = shown()
    assert (view.cells, view.pools, view.obeys_claims) == ((), None, False)
    assert shown(pci_stats=[], obeys_claims=True).pools == ()
    assert shown(obeys_claims=True).obeys_claims


def test_what_pending_claims_take_is_not_free() -> None:
    host = synthetic.network_cards()
    cell = InstanceCell(0, 0, 0b11, 1024, LARGE_PAGES, "dedicated")
    asked: dict[str, str | tuple[str, ...] | None] = {"physical_network": "physnet0"}
    devices = (DeviceRequest("one", 3, (asked,), affinity="required"),)
    found = fit(host, Wanted((cell,), devices=devices), {})
    assert isinstance(found, Fit)
    left = take(host, found)
    first, second = cells_view(host, left)
    assert (first.claimed_cpus, first.pinned_cpus) == ((0, 1), ())
    assert first.free_cpus == tuple(range(2, 8))
    assert (first.memory_used_mb, first.memory_claimed_mb) == (0, 1024)
    assert [(one.claimed, one.free) for one in first.pages[1:2]] == [(512, 512)]
    assert (second.claimed_cpus, second.memory_claimed_mb) == ((), 0)
    pool = next(one for one in pools_view(host, left) if one.numa_node == 0)
    assert (pool.free, pool.claimed, len(pool.addresses)) == (1, 3, 1)


def test_nothing_is_free_where_nothing_is_left() -> None:
    host = synthetic.graphics_cards()
    for cell in cells_view(host, HostTopology()):
        assert (cell.free_cpus, cell.claimed_cpus) == ((), ())
        assert all(pages.free == 0 for pages in cell.pages)
    assert all(pool.free == 0 for pool in pools_view(host, HostTopology()))


def test_pages_that_are_overcommitted_are_not_free() -> None:
    pages = [{"size_kb": 4, "total": 100, "used": 150}]
    cell = {"id": 0, "cpus": [0], "memory": 64, "mempages": pages}
    (found,) = shown(numa_topology={"cells": [cell]}).cells
    assert found.pages == (PagesView(4, 100, 150, 0, 0, 0),)


def test_unknown_hosts_have_none() -> None:
    with pytest.raises(NotFound, match="no host h1 with node n2"):
        host_topology(FleetDesk(1).state, "h1", "n2")
