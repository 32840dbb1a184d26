"""What an instance leaves of a host."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import NotFree
from gantt.model.cpu_sets import mask_of
from gantt.model.topology import (
    Device,
    DeviceRequest,
    Fit,
    FitLack,
    HostTopology,
    InstanceCell,
    ThreadPolicy,
)
from gantt.topology.fit import fit
from gantt.topology.host_remainder import take
from tests.topology.machines import (
    KIB_2M,
    host,
    host_cell,
    mixed_cell,
    named,
    pages,
    pinned_cell,
    pool,
    shared_cell,
    wanted,
)


def _fit(hosts: HostTopology, *cells: InstanceCell, **more: Any) -> Fit:
    found = fit(hosts, wanted(*cells, **more), {})
    assert isinstance(found, Fit), found
    return found


@pytest.mark.parametrize(
    ("threads", "pinned"),
    [(None, [0, 1, 2, 3]), ("require", [0, 1, 2, 3]), ("isolate", range(8))],
)
def test_pinned_cpus_and_the_emulators(
    threads: ThreadPolicy | None, pinned: Any
) -> None:
    hosts = host(host_cell(0), host_cell(1))
    found = _fit(hosts, pinned_cell(3, threads=threads), isolates_emulator=True)
    left = take(hosts, found)
    assert left.cells[0].pinned == mask_of(pinned)
    assert left.cells[0].memory_usage == 1024
    assert left.cells[0].cpu_usage == 0
    assert left.cells[1] == hosts.cells[1]


def test_shared_cpus_and_memory() -> None:
    hosts = host(host_cell(0, cpu_usage=3, memory_usage=10))
    left = take(hosts, _fit(hosts, shared_cell(2)))
    assert (left.cells[0].cpu_usage, left.cells[0].memory_usage) == (5, 1034)
    assert left.cells[0].pinned == 0


def test_a_mixed_cell_takes_both() -> None:
    hosts = host(host_cell(0))
    left = take(hosts, _fit(hosts, mixed_cell(3, 2)))
    assert (left.cells[0].cpu_usage, left.cells[0].pinned) == (3, 0b11)


@pytest.mark.parametrize(
    ("asked", "used"), [(None, [1024 * 256, 7]), (KIB_2M, [0, 7 + 512])]
)
def test_pages_of_the_chosen_or_the_smallest_size(
    asked: int | None, used: list[int]
) -> None:
    hosts = host(host_cell(0, pages=(pages(4, 1 << 20), pages(KIB_2M, 1024, 7))))
    left = take(hosts, _fit(hosts, shared_cell(1, page_kib=asked)))
    assert [one.used for one in left.cells[0].pages] == used


def test_cpus_that_are_pinned_already_or_unknown() -> None:
    hosts = host(host_cell(0))
    found = _fit(hosts, pinned_cell(2))
    left = take(hosts, found)
    with pytest.raises(NotFree, match="CPUs 0-1 of cell 0 are pinned already"):
        take(left, found)
    fewer = host(replace(hosts.cells[0], pcpus=0b11111101))
    with pytest.raises(NotFree, match="CPUs 1 of cell 0"):
        take(fewer, found)
    with pytest.raises(NotFree, match="Cell 0 is to be used"):
        take(host(), found)


ONE = DeviceRequest("one", 1, ({"vendor_id": "8086"},))
VF = DeviceRequest("vf", 1, ({"dev_type": "type-VF"},))
PF = DeviceRequest("pf", 1, ({"dev_type": "type-PF"},))


def test_devices_by_their_number() -> None:
    hosts = host(pools=(pool(1, 0), pool(2, 1)))
    found = _fit(hosts, devices=(replace(ONE, count=2),))
    left = take(hosts, found)
    assert left.pools == (pool(1, 1),)
    with pytest.raises(NotFree, match="takes 1 device "):
        take(left, found)


NIC = (
    named("type-PF", 0, ["0000:05:00.0"]),
    named("type-VF", 0, ["0000:05:00.1", "0000:05:00.2"], "0000:05:00.0"),
)


def test_a_vf_takes_its_pf_out_of_the_free_ones() -> None:
    hosts = host(pools=NIC)
    found = _fit(hosts, devices=(VF,))
    assert found.devices[0].devices == (Device("0000:05:00.1", "0000:05:00.0"),)
    left = take(hosts, found)
    rest = (Device("0000:05:00.2", "0000:05:00.0"),)
    assert left.pools == (replace(NIC[1], count=1, devices=rest),)
    with pytest.raises(NotFree, match="0000:05:00.1"):
        take(left, found)


def test_a_pf_takes_its_vfs_out_of_the_free_ones() -> None:
    hosts = host(pools=NIC)
    left = take(hosts, _fit(hosts, devices=(PF,)))
    assert left.pools == ()


def test_pools_alike_give_one_after_the_other() -> None:
    """Nova joins such pools; another that reports may not."""
    hosts = host(pools=(pool(1, 0), pool(2, 0)))
    found = _fit(hosts, devices=(replace(ONE, count=2),))
    assert [one.count for one in found.devices] == [1, 1]
    assert take(hosts, found).pools == (pool(1, 0),)
    twins = (named("type-VF", 0, ["a"]), named("type-VF", 0, ["b", "c"]))
    found = _fit(host(pools=twins), devices=(replace(VF, count=2),))
    # A newer report may list them the other way round.
    assert take(host(pools=twins[::-1]), found).pools == (named("type-VF", 0, ["c"]),)


def test_pages_that_a_newer_report_lacks_are_promised_all_the_same() -> None:
    """The instance may run there; the next one that asks for pages is refused."""
    hosts = host(host_cell(0, pages=(pages(4, 1 << 18), pages(KIB_2M, 512))))
    asked = shared_cell(1, page_kib=KIB_2M)
    found = _fit(hosts, asked)
    fewer = host(host_cell(0, pages=(pages(4, 1 << 18), pages(KIB_2M, 100))))
    left = take(fewer, found)
    assert left.cells[0].pages[1].free == -412
    assert isinstance(fit(left, wanted(asked), {}), FitLack)
