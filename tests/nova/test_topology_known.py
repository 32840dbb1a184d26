"""Corners of fitting, each as small as it gets: where Nova and Gantt agree although it
surprises, and where they do not (docs/deviations.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from nova import exception, objects
from nova.pci.stats import PciDeviceStats
from nova.scheduler.filters.numa_topology_filter import NUMATopologyFilter
from nova.virt import hardware

from gantt.model.cpu_sets import mask_of
from gantt.model.spec import Flavor, Image, RequestSpec
from gantt.model.topology import (
    ANY_PAGES,
    DeviceRequest,
    Fit,
    FitLack,
    HostCell,
    HostTopology,
    Wanted,
)
from gantt.scheduler.request import requested_devices
from gantt.scheduler.request.requested_topology import topology_of
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.nova import known_topology as known
from tests.nova.fits import Case
from tests.nova.upstream import request_spec, uuid_of
from tests.nova.upstream_topology import (
    Place,
    Sides,
    as_pool,
    ascending,
    device_requests,
    host_topology,
    instance_topology,
    placed,
)
from tests.topology.machines import (
    KIB_2M,
    cores,
    host,
    host_cell,
    pages,
    pinned_cell,
    pool,
    shared_cell,
    wanted,
)

NO_PROVIDERS: Mapping[str, tuple[str, ...]] = {}


def _cell(number: int, first: int, count: int, **more: Any) -> HostCell:
    """``count`` CPUs from ``first`` on, each a core."""
    cpus = mask_of(range(first, first + count))
    siblings = cores(first, count, 1)
    facts: dict[str, Any] = {"siblings": siblings, "memory": 4096, **more}
    return HostCell(number, cpus, cpus, **facts)


def _both(
    hosts: HostTopology, asked: Wanted, providers: Any = NO_PROVIDERS
) -> tuple[list[Place], list[Place] | None, str | None]:
    """What we place, what Nova places (None: nothing fits), and the known cause."""
    ours = fit(hosts, asked, providers)
    sides = Sides(hosts, asked, providers)
    with ascending():
        fits = sides.fits()
        cause = known.cause(Case(hosts, asked, providers, False), ours)
    return placed(ours), sides.placed() if fits else None, cause


# -- what was tried before changes the request (trap 10) ------------------------------


def test_nova_takes_what_it_remembers_of_one_instance_cell_for_another() -> None:
    hosts = host(_cell(0, 0, 1), _cell(1, 1, 1), _cell(2, 2, 1))
    asked = wanted(
        pinned_cell(1, 0), pinned_cell(1, 1, first=1), pinned_cell(2, 2, first=2)
    )
    ours, theirs, cause = _both(hosts, asked)
    assert ours == []
    # Two vCPUs on a cell with one CPU.
    assert theirs is not None
    assert cause == known.AFRESH


def test_nova_remembers_a_refusal_of_one_instance_cell_for_another() -> None:
    hosts = host(_cell(0, 0, 4), _cell(1, 4, 4), _cell(3, 8, 2))
    asked = wanted(
        pinned_cell(1, 0), pinned_cell(3, 1, first=1), pinned_cell(3, 3, first=4)
    )
    ours, theirs, cause = _both(hosts, asked)
    assert [place[0] for place in ours] == [3, 0, 1]
    assert theirs is None
    assert cause == known.AFRESH


def test_nova_keeps_the_page_size_of_the_first_cell_it_tried() -> None:
    # Cell 0 has pages of 2 MB, but its network is elsewhere; cell 1 has small pages.
    net = frozenset(("net",))
    hosts = host(
        _cell(0, 0, 2, pages=(pages(KIB_2M, 512),)),
        _cell(1, 2, 2, pages=(pages(4, 1 << 18),), physical_networks=net),
    )
    asked = wanted(
        shared_cell(1, page_kib=ANY_PAGES),
        physical_networks=net,
        cpu_ratio=4.0,
        ram_ratio=1.0,
    )
    ours, theirs, cause = _both(hosts, asked)
    assert ours == [(1, {}, 0, 4)]
    assert theirs is None
    assert cause == known.AFRESH


# -- limits (trap 11) -----------------------------------------------------------------


def test_without_limits_shared_cpus_have_no_ratio() -> None:
    hosts = host(_cell(0, 0, 2, cpu_usage=99, memory_usage=9999))
    ours, theirs, _ = _both(hosts, wanted(shared_cell(2)))
    assert ours == theirs == [(0, {}, 0, None)]
    limited = wanted(shared_cell(2), cpu_ratio=4.0, ram_ratio=4.0)
    assert _both(hosts, limited)[:2] == ([], None)


# -- devices (traps 38, 39) -----------------------------------------------------------

FAR = DeviceRequest("r", 1, ({"vendor_id": "8086"},), True, "required")


def test_affinity_counts_only_for_instances_with_cells() -> None:
    hosts = replace(host(_cell(0, 0, 2)), pools=(pool(1, 1),))
    assert isinstance(fit(hosts, wanted(devices=(FAR,)), {}), Fit)
    assert Sides(hosts, wanted(devices=(FAR,)), {}).fits()
    assert _both(hosts, wanted(shared_cell(1), devices=(FAR,)))[:2] == ([], None)


def test_preferred_sorts_and_does_not_exclude() -> None:
    near = replace(FAR, affinity="preferred", count=2)
    # The second is at no cell: as near as the third, which is at the cell.
    pools = (pool(1, 1), pool(1, None, serial="x"), pool(1, 0, a="b", c="d"))
    hosts = replace(host(_cell(0, 0, 2)), pools=pools)
    asked = wanted(shared_cell(1), devices=(near,))
    ours = fit(hosts, asked, {})
    assert isinstance(ours, Fit)
    sides = Sides(hosts, asked, {})
    assert sides.fits()
    sides.consume_devices()
    left = take(hosts, ours)
    assert left.pools == (pools[0],)
    assert sides.pools() == [as_pool(pools[0])]


def test_a_pool_without_a_node_is_at_no_cell() -> None:
    """The key may be null, or missing, which is the same to Nova's sieves."""
    plain = as_pool(pool(1))
    missing = {key: value for key, value in plain.items() if key != "numa_node"}
    topology = host_topology(host(_cell(0, 0, 2)))
    cells = instance_topology(wanted(shared_cell(1))).cells
    for affinity, fits in (("legacy", True), ("required", False)):
        asked: Any = replace(FAR, affinity=affinity)
        for one in (plain, missing):
            stats = PciDeviceStats(topology)
            stats.pools = [one]
            requests = device_requests((asked,))
            assert stats.support_requests(requests, {}, cells) == fits
        hosts = replace(host(_cell(0, 0, 2)), pools=(pool(1),))
        found = fit(hosts, wanted(shared_cell(1), devices=(asked,)), {})
        assert isinstance(found, Fit) == fits


def test_a_request_beside_a_host_without_devices() -> None:
    """Asked without statistics, Nova's function passes every device; host states
    always have some, so that its filters never do."""
    hosts = host(_cell(0, 0, 2))
    asked = wanted(shared_cell(1), devices=(FAR,))
    assert _both(hosts, asked)[:2] == ([], None)
    assert hardware.numa_fit_instance_to_host(
        host_topology(hosts),
        instance_topology(asked),
        {},
        pci_requests=device_requests(asked.devices),
        pci_stats=None,
    )


EITHER = replace(FAR, request_id="either")
FIRST = DeviceRequest("first", 1, ({"serial": "first"},), True, "preferred")


def test_devices_that_are_near_the_cells_are_asked_for_anywhere_too() -> None:
    """PciPassthroughFilter does, and the compute when it claims: there, the first
    request takes the only card for the second. NUMATopologyFilter alone passes."""
    pools = (pool(1, 1, serial="first"), pool(1, 0, a="b", c="d"))
    hosts = replace(host(_cell(0, 0, 2), _cell(1, 2, 2, pinned=0b1100)), pools=pools)
    asked = wanted(pinned_cell(1), devices=(EITHER, FIRST))
    ours, theirs, _ = _both(hosts, asked)
    assert ours == [] and theirs is None
    sides = Sides(hosts, asked, NO_PROVIDERS)
    assert sides.fits_near()
    lack = fit(hosts, asked, NO_PROVIDERS)
    one = Case(hosts, asked, NO_PROVIDERS, False)
    assert known.of_filters(one, lack, has_devices=False) == known.ANYWHERE


def test_a_provider_of_several_pools_gives_nothing() -> None:
    here, there = uuid_of("here"), uuid_of("there")
    pools = [replace(pool(1, serial=str(n)), rp_uuid=there) for n in range(2)]
    hosts = host(pools=(replace(pool(1), rp_uuid=here), *pools))
    asked = wanted(devices=(FAR,))
    for providers, fits in (({"r-0": (here,)}, False), (NO_PROVIDERS, True)):
        assert isinstance(fit(hosts, asked, providers), Fit) == fits
        assert Sides(hosts, asked, providers).fits() == fits


def test_each_provider_of_an_allocation_has_to_give_its_device() -> None:
    here, gone = uuid_of("here"), uuid_of("gone")
    hosts = host(pools=(replace(pool(2), rp_uuid=here),))
    asked = wanted(devices=(replace(FAR, count=2),))
    providers = {"r-0": (here,), "r-1": (gone,)}
    lack = fit(hosts, asked, providers)
    assert isinstance(lack, FitLack)
    assert (lack.what, lack.asked, lack.has) == ("devices", 2, 1)
    sides = Sides(hosts, asked, providers)
    assert sides.fits()
    sides.consume_devices()
    # One device for two.
    assert [one["count"] for one in sides.pools()] == [1]
    assert known.cause(Case(hosts, asked, providers, False), lack) == known.NO_POOL


def test_a_request_for_no_device() -> None:
    none = replace(FAR, count=0)
    assert not Sides(host(pools=()), wanted(devices=(none,)), {}).fits()
    asked = device_requests((none,))[0]
    entry = {"count": 0, "spec": asked.spec, "alias_name": asked.alias_name}
    assert requested_devices.wanted(RequestSpec(pci_requests=(entry,)), ()) == ()


# -- what Nova's functions cannot do --------------------------------------------------


def test_an_isolated_emulator_thread_is_on_a_core_that_is_free() -> None:
    # Of the cores (0, 1), (2, 3), (4, 5), CPU 0 is in use.
    busy = host(host_cell(0, cpus=6, pinned=1, pages=(pages(4, 1 << 20),)))
    asked = wanted(pinned_cell(1, threads="isolate"), isolates_emulator=True)
    sides = Sides(busy, asked, {})
    with ascending():
        assert sides.fits()
        assert sides.placed() == [(0, {0: 2}, mask_of([1]), None)]
        with pytest.raises(exception.CPUPinningInvalid):
            sides.consume_cells()
        ours = fit(busy, asked, {})
        assert known.cause(Case(busy, asked, {}, False), ours) == known.EMULATOR
    assert placed(ours) == [(0, {0: 2}, mask_of([4]), None)]
    assert isinstance(ours, Fit)
    assert take(busy, ours).cells[0].pinned == mask_of([0, 2, 3, 4, 5])


def test_a_host_cell_that_reports_no_pages() -> None:
    hosts = host(_cell(0, 0, 2))
    asked = wanted(shared_cell(1))
    sides = Sides(hosts, asked, {})
    assert sides.fits()
    with pytest.raises(IndexError):
        sides.consume_cells()
    ours = fit(hosts, asked, {})
    assert isinstance(ours, Fit)
    assert take(hosts, ours).cells[0].memory_usage == 1024


def test_a_host_cell_that_reports_no_cores() -> None:
    hosts = host(replace(_cell(0, 0, 2), siblings=()))
    asked = wanted(pinned_cell(2))
    with pytest.raises(ValueError, match="empty"):
        Sides(hosts, asked, {}).fits()
    assert placed(fit(hosts, asked, {})) == [(0, {0: 0, 1: 1}, 0, None)]


def test_of_a_core_the_lowest_cpu_comes_first() -> None:
    """Nova takes them as Python iterates a set: 17 before 5."""
    assert list({5, 17}) == [17, 5]
    both = mask_of([5, 17])
    hosts = host(HostCell(0, both, both, 4096, siblings=(both,)))
    asked = wanted(pinned_cell(1))
    sides = Sides(hosts, asked, {})
    assert sides.fits()
    assert sides.placed() == [(0, {0: 17}, 0, None)]
    assert placed(fit(hosts, asked, {})) == [(0, {0: 5}, 0, None)]
    assert _both(hosts, asked)[1] == [(0, {0: 5}, 0, None)]


def test_a_cell_without_pinned_cpus_isolates_nothing() -> None:
    """Which Nova's API accepts of a mixed instance, and no host fits."""
    every = mask_of(range(4))
    hosts = host(HostCell(0, every, every, 4096, siblings=(3, 12)))
    cell = replace(shared_cell(1), policy="mixed")
    assert _both(hosts, wanted(cell))[:2] == ([(0, {}, 0, None)],) * 2
    isolated = wanted(replace(cell, threads="isolate"))
    beside = replace(wanted(cell), isolates_emulator=True)
    for asked in (isolated, beside):
        assert _both(hosts, asked)[:2] == ([], None)


# -- siblings -------------------------------------------------------------------------


def test_require_needs_a_host_with_siblings() -> None:
    """Which Nova's filter asks apart from the fit, and the fit finds as well."""
    hosts = host(_cell(0, 0, 4))
    asked = wanted(pinned_cell(2, threads="require"))
    assert _both(hosts, asked)[:2] == ([], None)
    flavor = objects.Flavor(
        extra_specs={"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require"}
    )
    image = objects.ImageMeta.from_dict({})
    topology = host_topology(hosts)
    assert not NUMATopologyFilter()._satisfies_cpu_policy(
        _State(topology), flavor.extra_specs, image.properties
    )


def test_require_of_an_image_whose_flavor_prefers() -> None:
    """The flavor's word counts, in both; Nova's filter asks for siblings still."""
    hosts = host(_cell(0, 0, 4))
    said = {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "prefer"}
    spec = RequestSpec(
        flavor=Flavor(vcpus=2, memory_mb=64, extra_specs=said),
        image=Image(properties={"hw_cpu_thread_policy": "require"}),
    )
    found = topology_of(spec)
    assert found is not None and found.cells[0].threads == "prefer"
    assert isinstance(fit(hosts, Wanted(found.cells), {}), Fit)
    asked = request_spec(spec)
    made = hardware.numa_get_constraints(asked.flavor, asked.image)
    assert made.cells[0].cpu_thread_policy == "prefer"
    assert not NUMATopologyFilter()._satisfies_cpu_policy(
        _State(host_topology(hosts)), asked.flavor.extra_specs, asked.image.properties
    )


class _State:
    """As much of a host state as the filter reads there."""

    host = nodename = "h1"

    def __init__(self, topology: Any) -> None:
        self.numa_topology = topology
