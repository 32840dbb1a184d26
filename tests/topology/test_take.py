"""What an instance leaves of a host, and that it gives back what it took."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gantt.errors import NotFree
from gantt.model.topology import (
    Device,
    DeviceRequest,
    Fit,
    HostTopology,
    InstanceCell,
    ThreadPolicy,
)
from gantt.topology.fit import fit
from gantt.topology.pinning import mask
from gantt.topology.take import give_back, take
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


def _there_and_back(hosts: HostTopology, found: Fit) -> HostTopology:
    left = take(hosts, found)
    assert give_back(left, found) == hosts
    return left


@pytest.mark.parametrize(
    ("threads", "pinned"),
    [(None, [0, 1, 2, 3]), ("require", [0, 1, 2, 3]), ("isolate", range(8))],
)
def test_pinned_cpus_and_the_emulators(
    threads: ThreadPolicy | None, pinned: Any
) -> None:
    hosts = host(host_cell(0), host_cell(1))
    found = _fit(hosts, pinned_cell(3, threads=threads), isolates_emulator=True)
    left = _there_and_back(hosts, found)
    assert left.cells[0].pinned == mask(pinned)
    assert left.cells[0].memory_usage == 1024
    assert left.cells[0].cpu_usage == 0
    assert left.cells[1] == hosts.cells[1]


def test_shared_cpus_and_memory() -> None:
    hosts = host(host_cell(0, cpu_usage=3, memory_usage=10))
    left = _there_and_back(hosts, _fit(hosts, shared_cell(2)))
    assert (left.cells[0].cpu_usage, left.cells[0].memory_usage) == (5, 1034)
    assert left.cells[0].pinned == 0


def test_a_mixed_cell_takes_both() -> None:
    hosts = host(host_cell(0))
    left = _there_and_back(hosts, _fit(hosts, mixed_cell(3, 2)))
    assert (left.cells[0].cpu_usage, left.cells[0].pinned) == (3, 0b11)


@pytest.mark.parametrize(
    ("asked", "used"), [(None, [1024 * 256, 7]), (KIB_2M, [0, 7 + 512])]
)
def test_pages_of_the_chosen_or_the_smallest_size(
    asked: int | None, used: list[int]
) -> None:
    hosts = host(host_cell(0, pages=(pages(4, 1 << 20), pages(KIB_2M, 1024, 7))))
    left = _there_and_back(hosts, _fit(hosts, shared_cell(1, page_kib=asked)))
    assert [one.used for one in left.cells[0].pages] == used


def test_cpus_that_are_pinned_already_or_unknown() -> None:
    hosts = host(host_cell(0))
    found = _fit(hosts, pinned_cell(2))
    left = take(hosts, found)
    with pytest.raises(NotFree, match=r"CPUs \[0, 1\] of cell 0 are pinned already"):
        take(left, found)
    with pytest.raises(NotFree, match="not pinned"):
        give_back(hosts, found)
    fewer = host(replace(hosts.cells[0], pcpus=0b11111101))
    with pytest.raises(NotFree, match=r"CPUs \[1\] of cell 0"):
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
    back = give_back(left, found)
    assert back.pools is not None
    assert sorted((one.numa_node, one.count) for one in back.pools) == [(0, 1), (1, 2)]
    with pytest.raises(NotFree, match="1 devices"):
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


def test_a_device_is_given_back_once_and_what_went_with_it_stays_out() -> None:
    hosts = host(pools=NIC)
    found = _fit(hosts, devices=(VF,))
    back = give_back(take(hosts, found), found)
    assert back.pools is not None
    assert [set(one.devices) for one in back.pools] == [set(NIC[1].devices)]
    with pytest.raises(NotFree, match="but it is free"):
        give_back(back, found)
