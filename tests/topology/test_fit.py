"""A whole instance on a whole host: which cells, and what the nearest one lacks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gantt.model.topology import DeviceRequest, Fit, FitLack, HostTopology, Wanted
from gantt.topology.fit import fit
from tests.topology.machines import (
    KIB_2M,
    host,
    host_cell,
    pages,
    pinned_cell,
    pool,
    shared_cell,
    wanted,
)

FOUR = host(*(host_cell(number) for number in range(4)))


def _cells(found: Fit | FitLack) -> list[int]:
    assert isinstance(found, Fit), found
    return [cell.host_cell for cell in found.cells]


def _with(hosts: HostTopology, number: int, **changes: object) -> HostTopology:
    cells = list(hosts.cells)
    cells[number] = replace(cells[number], **changes)
    return replace(hosts, cells=tuple(cells))


def test_each_instance_cell_has_a_host_cell_of_its_own() -> None:
    asked = wanted(*(pinned_cell(4, number, first=4 * number) for number in range(2)))
    found = fit(FOUR, asked, {})
    assert _cells(found) == [0, 1]
    assert isinstance(found, Fit)
    assert found.cells[1].pinning == ((4, 8), (5, 9), (6, 10), (7, 11))


def test_the_first_placement_in_order_wins() -> None:
    # Only cell 2 has room for the first instance cell.
    hosts = FOUR
    for number in (0, 1, 3):
        hosts = _with(hosts, number, pinned=0b11 << 8 * number)
    asked = wanted(pinned_cell(8, 0), pinned_cell(2, 1), pinned_cell(2, 2))
    assert _cells(fit(hosts, asked, {})) == [2, 0, 1]


def test_a_host_with_too_few_cells() -> None:
    asked = wanted(*(shared_cell(1, number) for number in range(5)))
    assert fit(FOUR, asked, {}) == FitLack("cells", 5, 4, "cells")
    assert fit(HostTopology(), wanted(shared_cell(1)), {}) == FitLack(
        "cells", 1, 0, "cells"
    )


def test_the_nearest_cell_says_what_it_lacks() -> None:
    paged = (pages(4, 10), pages(KIB_2M, 512))
    cells = (
        host_cell(0, pinned=0b1111111, pages=paged[:1]),
        host_cell(1, pinned=0b11111 << 8, pages=paged),
    )
    asked = wanted(pinned_cell(4, memory=2048, page_kib=KIB_2M))
    assert fit(host(*cells), asked, {}) == FitLack(
        "cpus",
        4,
        3,
        "pinned CPUs",
        1,
        more=(FitLack("pages", 1024, 512, "pages", 1, "2 MB"),),
    )


def test_instance_cells_that_compete_for_one_host_cell() -> None:
    hosts = host(host_cell(0), host_cell(1, pinned=0b1111 << 8))
    asked = wanted(pinned_cell(6, 0), pinned_cell(6, 1))
    lack = fit(hosts, asked, {})
    assert lack == FitLack(
        "cells", 2, 1, "cells", more=(FitLack("cpus", 6, 4, "pinned CPUs", 1),)
    )


def test_the_emulator_is_beside_the_first_instance_cell() -> None:
    asked = wanted(pinned_cell(2, 0), pinned_cell(8, 1), isolates_emulator=True)
    found = fit(FOUR, asked, {})
    assert isinstance(found, Fit)
    assert [cell.emulator for cell in found.cells] == [0b100, 0]
    full = wanted(pinned_cell(8), isolates_emulator=True)
    assert fit(FOUR, full, {}) == FitLack("cpus", 9, 8, "pinned CPUs", 0)


def test_networks_are_near_where_some_cell_has_them() -> None:
    hosts = _with(FOUR, 1, physical_networks=frozenset(("left",)))
    hosts = _with(hosts, 3, physical_networks=frozenset(("right",)), is_tunnelled=True)
    one = wanted(shared_cell(1), physical_networks=frozenset(("right", "nowhere")))
    assert _cells(fit(hosts, one, {})) == [3]
    assert _cells(fit(hosts, replace(one, is_tunnelled=True), {})) == [3]
    two = replace(one, physical_networks=frozenset(("left", "right")))
    lack = fit(hosts, two, {})
    assert lack == FitLack("networks", 2, 1, "networks", None, "right")
    cells = (shared_cell(1, 0), shared_cell(1, 1))
    assert _cells(fit(hosts, replace(two, cells=cells), {})) == [1, 3]
    nowhere = replace(one, physical_networks=frozenset(("nowhere",)))
    assert _cells(fit(FOUR, replace(nowhere, is_tunnelled=True), {})) == [0]


GPU = DeviceRequest("gpu", 1, ({"vendor_id": "8086"},), True, "required")


def test_devices_choose_the_cell() -> None:
    hosts = replace(FOUR, pools=(pool(1, 2),))
    found = fit(hosts, wanted(pinned_cell(2), devices=(GPU,)), {})
    assert _cells(found) == [2]
    assert isinstance(found, Fit)
    assert [taken.numa_node for taken in found.devices] == [2]


def test_devices_that_are_not_near() -> None:
    hosts = _with(replace(FOUR, pools=(pool(1, 2),)), 2, pinned=0xFF << 16)
    lack = fit(hosts, wanted(pinned_cell(2), devices=(GPU,)), {})
    assert isinstance(lack, FitLack)
    assert (lack.what, lack.asked, lack.has, lack.cell) == ("devices", 1, 0, None)
    assert lack.detail == "vendor_id=8086, near cell 0 (1 elsewhere), affinity required"
    # The cell that is near them lacks something else.
    assert lack.more == (FitLack("cpus", 2, 0, "pinned CPUs", 2),)


def test_without_cells_affinity_does_not_count() -> None:
    asked = wanted(devices=(GPU,))
    found = fit(host(pools=(pool(1),)), asked, {})
    assert isinstance(found, Fit)
    assert (found.cells, found.devices[0].count) == ((), 1)
    lack = fit(host(), asked, {})
    assert lack == FitLack("devices", 1, 0, "devices", None, "vendor_id=8086")
    assert fit(host(), Wanted(), {}) == Fit()


def test_packing_fills_the_fullest_cell() -> None:
    hosts = _with(FOUR, 3, pinned=1 << 24)
    asked = wanted(pinned_cell(2))
    assert _cells(fit(hosts, asked, {})) == [0]
    assert _cells(fit(hosts, asked, {}, packs=True)) == [3]


@pytest.mark.parametrize("far", [False, True])
def test_a_search_has_an_end(far: bool) -> None:
    """Sixteen cells have 518,918,400 placements of eight instance cells: those with
    room are found at once; where the networks are at no eight of them, it gives up."""
    cells = tuple(
        host_cell(number, physical_networks=frozenset((f"net{number}",)))
        for number in range(16)
    )
    networks = frozenset(f"net{number}" for number in range(9 if far else 8))
    asked = wanted(
        *(shared_cell(1, number) for number in range(8)), physical_networks=networks
    )
    found = fit(host(*cells), replace(asked, most_steps=1000), {})
    if far:
        assert found == FitLack("search", 518_918_400, 1000, "placements")
    else:
        assert _cells(found) == list(range(8))


def test_the_same_cells_in_another_order_are_not_looked_at_again() -> None:
    """Eight cells on eight have 40,320 placements; 255 sets of them decide."""
    hosts = host(*(host_cell(number) for number in range(8)), pools=())
    cells = (shared_cell(1, number) for number in range(8))
    asked = wanted(*cells, devices=(GPU,), most_steps=8 * 2**7)
    lack = fit(hosts, asked, {})
    assert isinstance(lack, FitLack)
    assert lack.what == "devices"
    fewer = fit(hosts, replace(asked, most_steps=8 * 2**7 - 1), {})
    assert isinstance(fewer, FitLack)
    assert fewer.is_of_search


EITHER = DeviceRequest("either", 1, ({"vendor_id": "8086"},), True, "required")
FIRST = DeviceRequest("first", 1, ({"serial": "first"},), True, "preferred")


@pytest.mark.parametrize("obeys", [False, True])
def test_a_compute_of_nova_also_gives_devices_without_regard_to_cells(
    obeys: bool,
) -> None:
    """Near cell 0, the first request gets the second card and leaves the first one;
    anywhere, it takes the first one."""
    hosts = host(
        host_cell(0), host_cell(1, pinned=0xFF00), pools=(pool(1, 1, serial="first"),)
    )
    hosts = replace(hosts, pools=(*(hosts.pools or ()), pool(1, 0, a="b", c="d")))
    asked = wanted(pinned_cell(2), devices=(EITHER, FIRST))
    found = fit(replace(hosts, obeys=obeys), asked, {})
    if obeys:
        assert _cells(found) == [0]
    else:
        assert found == FitLack("devices", 1, 0, "devices", None, "serial=first")
    # One request alone finds anywhere what it finds near the cells.
    assert _cells(fit(hosts, replace(asked, devices=(EITHER,)), {})) == [0]
