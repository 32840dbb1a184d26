"""Fleets to measure on: the same hosts at every run, whichever side holds them.

    flat     hosts alone: VCPU, MEMORY_MB, DISK_GB
    nested   hosts with four NUMA cells, and two network cards below them
    shared   hosts without disks, thirty-two of them on one shared pool

Each is uniform, or mixed: three generations of hosts, in part used.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from msgspec import Struct

SHAPES: Final = ("flat", "nested", "shared")
MOST_HOSTS: Final = 1_000_000

CPU_RATIO: Final = 4.0
CELLS: Final = 4
VFS: Final = 4
"""Virtual functions of one network card; each host has two cards."""
CARD_CELLS: Final = (0, 2)
NIC: Final = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}
HOSTS_OF_POOL: Final = 32
_POOL_GB: Final = 200_000
_SIZES: Final = ((32, 131_072, 1_000), (64, 262_144, 4_000), (128, 524_288, 8_000))
_SPREAD: Final = 7_919
HOST, CARD, POOL, AGGREGATE, FILL, INSTANCE, GROUP = range(1, 8)


class Host(Struct, frozen=True):
    """``pool``: the number of its shared disks, -1: it has its own. ``cells``: NUMA
    cells; a host with cells has two cards, near the first and the third."""

    number: int
    vcpus: int
    memory_mb: int
    disk_gb: int
    vcpus_used: int = 0
    memory_mb_used: int = 0
    disk_gb_used: int = 0
    pool: int = -1
    cells: int = 0

    @property
    def name(self) -> str:
        return f"host{self.number}"

    @property
    def uuid(self) -> str:
        return uuid_of(HOST, self.number)


class BenchFleet(Struct, frozen=True):
    """``pools``: GB of each shared pool of disks."""

    name: str
    hosts: tuple[Host, ...]
    pools: tuple[int, ...] = ()


def uuid_of(kind: int, number: int, part: int = 0) -> str:
    """A uuid that is the same at every run; ``kind`` keeps hosts, instances and others
    apart."""
    return str(UUID(int=kind << 96 | 4 << 76 | 8 << 60 | part << 48 | number))


def fleet_of(shape: str, size: int, *, is_mixed: bool) -> BenchFleet:
    """``size`` hosts of one of ``SHAPES``."""
    assert shape in SHAPES, shape
    assert 0 < size <= MOST_HOSTS, size
    hosts = tuple(_host(shape, number, is_mixed) for number in range(size))
    pools = 0 if shape != "shared" else -(-size // HOSTS_OF_POOL)
    kind = "mixed" if is_mixed else "uniform"
    return BenchFleet(f"{shape}, {kind}, {size:,} hosts", hosts, (_POOL_GB,) * pools)


def _host(shape: str, number: int, is_mixed: bool) -> Host:
    vcpus, memory_mb, disk_gb = _SIZES[number % 3 if is_mixed else 1]
    # Up to 70 % are used, in steps, in an order that looks like none.
    tenths = number * _SPREAD % 8 if is_mixed else 0
    has_disk = shape != "shared"
    return Host(
        number,
        vcpus,
        memory_mb,
        disk_gb if has_disk else 0,
        vcpus_used=vcpus * tenths // 10,
        memory_mb_used=memory_mb * tenths // 10,
        disk_gb_used=disk_gb * tenths // 10 if has_disk else 0,
        pool=-1 if has_disk else number // HOSTS_OF_POOL,
        cells=CELLS if shape == "nested" else 0,
    )


def cells_of(host: Host) -> list[dict[str, Any]]:
    """Its NUMA cells, as the fields of Nova's objects; some cores are pinned."""
    return [
        cell_of(host, place, (host.number + place) % 5) for place in range(host.cells)
    ]


def cell_of(host: Host, place: int, pinned: int = 0) -> dict[str, Any]:
    """One of them, with so many cores pinned."""
    cores_here = host.vcpus // (2 * host.cells)
    first, all_cores = place * cores_here, host.vcpus // 2
    cores = [[cpu, cpu + all_cores] for cpu in range(first, first + cores_here)]
    pinned = min(pinned, cores_here)
    memory_mb = host.memory_mb // host.cells
    pages = {"size_kb": 4, "total": memory_mb * 256, "used": 0, "reserved": 0}
    return {
        "id": place,
        "cpuset": [],
        "pcpuset": sorted(cpu for core in cores for cpu in core),
        "pinned_cpus": sorted(cpu for core in cores[:pinned] for cpu in core),
        "siblings": cores,
        "memory": memory_mb,
        "cpu_usage": 2 * pinned,
        "memory_usage": 0,
        "mempages": [pages],
        "network_metadata": {"physnets": [], "tunneled": False},
        "socket": place // 2,
    }


def cards_of(host: Host) -> list[dict[str, Any]]:
    """What is left of its devices."""
    if not host.cells:
        return []
    return [
        {
            **NIC,
            "numa_node": cell,
            "count": VFS,
            "tags": {"physical_network": f"physnet{cell}"},
        }
        for cell in CARD_CELLS
    ]


Fact = tuple[str, tuple[int, ...]]
"""A host or pool, and [VCPU, of it used, MEMORY_MB, used, DISK_GB, used, virtual
functions]: what every side can tell of what it holds."""
