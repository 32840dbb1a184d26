"""Hosts and instances, written as briefly as a test wants to read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gantt.model.cpu_sets import mask_of
from gantt.model.topology import (
    CpuPolicy,
    Cpus,
    Device,
    HostCell,
    HostTopology,
    InstanceCell,
    Pages,
    Pool,
    ThreadPolicy,
    Wanted,
)

KIB_2M = 2048
KIB_1G = 1 << 20


def cores(first: int, count: int, threads: int = 2) -> tuple[Cpus, ...]:
    """``count`` cores of neighbouring CPUs from ``first`` on."""
    return tuple(
        mask_of(range(first + core * threads, first + (core + 1) * threads))
        for core in range(count)
    )


def host_cell(
    number: int = 0, *, cpus: int = 8, threads: int = 2, **more: Any
) -> HostCell:
    """A cell of ``cpus`` CPUs that are all for pinning and for sharing, 4 GB."""
    first = number * cpus
    siblings = cores(first, cpus // threads, threads) if threads > 1 else ()
    all_of_them = mask_of(range(first, first + cpus))
    facts: dict[str, Any] = {
        "id": number,
        "cpus": all_of_them,
        "pcpus": all_of_them,
        "memory": 4096,
        "siblings": siblings,
        **more,
    }
    return HostCell(**facts)


def host(*cells: HostCell, pools: tuple[Pool, ...] | None = None) -> HostTopology:
    return HostTopology(cells, pools)


def pages(size_kib: int, total: int, used: int = 0, reserved: int = 0) -> Pages:
    return Pages(size_kib, total, used, reserved)


def pinned_cell(
    count: int,
    number: int = 0,
    *,
    first: int = 0,
    threads: ThreadPolicy | None = None,
    memory: int = 1024,
    page_kib: int | None = None,
) -> InstanceCell:
    """``count`` pinned vCPUs from ``first`` on."""
    cpus = mask_of(range(first, first + count))
    return InstanceCell(number, 0, cpus, memory, page_kib, "dedicated", threads)


def shared_cell(
    count: int,
    number: int = 0,
    *,
    memory: int = 1024,
    page_kib: int | None = None,
    policy: CpuPolicy | None = None,
) -> InstanceCell:
    return InstanceCell(number, mask_of(range(count)), 0, memory, page_kib, policy)


def mixed_cell(shared: int, pinned: int, memory: int = 1024) -> InstanceCell:
    """Shared vCPUs, then pinned ones."""
    pcpus = mask_of(range(shared, shared + pinned))
    return InstanceCell(0, mask_of(range(shared)), pcpus, memory, None, "mixed")


def wanted(*cells: InstanceCell, **more: Any) -> Wanted:
    return Wanted(cells, **more)


def pool(count: int, node: int | None = None, **tags: str | tuple[str, ...]) -> Pool:
    """Cards of one make unless ``tags`` say something else."""
    made = {"vendor_id": "8086", "product_id": "10ed", "dev_type": "type-PCI", **tags}
    return Pool(count, node, made)


def named(
    kind: str, node: int | None, addresses: Sequence[str], parent: str | None = None
) -> Pool:
    """A pool of devices that the host names."""
    devices = tuple(Device(address, parent) for address in addresses)
    plain = pool(len(devices), node, dev_type=kind, product_id=kind)
    return Pool(plain.count, node, plain.tags, None, devices)
