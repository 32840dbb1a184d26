"""Synthetic machines: values, and what hosts would report of them.

Made up from the documented formats; none is a dump of a real machine. ``nova_form`` is
what Nova's resource tracker stores, ``plain_form`` what an agent of ours sends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import (
    TYPE_PCI,
    TYPE_PF,
    TYPE_VF,
    VDPA,
    Cpus,
    Device,
    HostCell,
    HostTopology,
    Pages,
    Pool,
)
from tests.model.forms.objects import nova

Tags = dict[str, str | tuple[str, ...]]

SMALL, LARGE, HUGE = 4, 2_048, 1_048_576


def cores(first: int, count: int, apart: int) -> tuple[Cpus, ...]:
    """The threads of ``count`` cores from CPU ``first``; the second thread of each is
    ``apart`` CPUs after the first, 0: there is none."""
    every = range(first, first + count)
    return tuple(mask_of({cpu, cpu + apart}) for cpu in every)


def pages(memory: int, large: int = 0, huge: int = 0) -> tuple[Pages, ...]:
    """Pages that make up ``memory`` MB, so many of them larger than the smallest."""
    small = (memory * 1_024 - large * LARGE - huge * HUGE) // SMALL
    return (Pages(SMALL, small), Pages(LARGE, large), Pages(HUGE, huge))


def single_cell() -> HostTopology:
    """A small machine: one cell, four CPUs without threads, no dedicated ones apart."""
    cpus = mask_of(range(4))
    cell = HostCell(
        id=0,
        cpus=cpus,
        pcpus=cpus,
        memory=8_192,
        siblings=cores(0, 4, 0),
        cpu_usage=2,
        memory_usage=1_024,
        pages=pages(8_192)[:1],
        socket=0,
    )
    return HostTopology((cell,))


def four_cells() -> HostTopology:
    """Two sockets with two cells each; 64 threads, of which the first core of each cell
    is shared; pages of 2 MiB and 1 GiB, some of everything in use."""
    cells = []
    for number in range(4):
        threads = cores(8 * number, 8, 32)
        used = pages(65_536, 16_384, 16)
        cells.append(
            HostCell(
                id=number,
                cpus=threads[0],
                pcpus=sum(threads[1:]),
                memory=65_536,
                pinned=sum(threads[1 : 1 + number]),
                siblings=threads,
                cpu_usage=number,
                memory_usage=1_024 * number,
                pages=(used[0], replace(used[1], used=512 * number), used[2]),
                physical_networks=frozenset({f"physnet{number // 2}"}),
                is_tunnelled=number == 0,
                socket=number // 2,
            )
        )
    return HostTopology(tuple(cells), ())


def two_cells(threads: int = 8) -> tuple[HostCell, ...]:
    """Cells of one core's width each socket, of ``threads`` CPUs without siblings."""
    return tuple(
        HostCell(
            number,
            *(mask_of(range(number * threads, (number + 1) * threads)),) * 2,
            16_384,
            siblings=cores(number * threads, threads, 0),
            pages=pages(16_384, 1_024)[:2],
            physical_networks=frozenset({f"physnet{number}"}),
            socket=number,
        )
        for number in range(2)
    )


def network_cards() -> HostTopology:
    """SR-IOV NICs at both cells, each with a physical network of its own: VFs in the
    pool of their PF's address, and a PF that can be given away as a whole."""
    pools = []
    for number in range(2):
        nic = f"0000:{0x18 + number:02x}:00.0"
        card: Tags = {
            "vendor_id": "8086",
            "dev_type": TYPE_VF,
            "product_id": "154c",
            "physical_network": f"physnet{number}",
            "remote_managed": "false",
            "trusted": "true",
            "address": nic,
            "parent_ifname": f"ens{number}f0",
        }
        vfs = _devices((f"{nic[:-1]}{place}" for place in range(1, 5)), nic)
        pools.append(Pool(4, number, card, None, vfs))
    whole: Tags = {
        "vendor_id": "8086",
        "dev_type": TYPE_PF,
        "product_id": "1572",
        "physical_network": "physnet1",
        "remote_managed": "false",
        "address": "0000:1a:00.0",
    }
    pools.insert(0, Pool(1, 1, whole, None, _devices(["0000:1a:00.0"])))
    return HostTopology(two_cells(), tuple(pools))


def graphics_cards() -> HostTopology:
    """GPUs near cells 0 and 1, and one near none; each a provider of its own."""
    nodes = (0, 0, 1, None)
    pools = []
    for number, node in enumerate(nodes):
        address = f"0000:{0x3B + number:02x}:00.0"
        tags: Tags = {
            "vendor_id": "10de",
            "product_id": "20b5",
            "dev_type": TYPE_PCI,
            "address": address,
        }
        provider = f"00000000-0000-4000-8000-{number:012}"
        pools.append(Pool(1, node, tags, provider, _devices([address])))
    return HostTopology(two_cells(), tuple(pools))


def vdpa_card() -> HostTopology:
    """VDPA devices beside the VFs of a SmartNIC, which a remote host manages."""
    nic = "0000:65:00.0"
    tags: Tags = {
        "vendor_id": "15b3",
        "product_id": "101e",
        "physical_network": "physnet0",
        "address": nic,
    }
    vdpa: Tags = {**tags, "dev_type": VDPA, "remote_managed": "false"}
    remote: Tags = {**tags, "dev_type": TYPE_VF, "remote_managed": "true"}
    pools = (
        Pool(2, 1, vdpa, None, _devices(["0000:65:00.2", "0000:65:00.3"], nic)),
        Pool(1, 1, remote, None, _devices(["0000:65:00.4"], nic)),
    )
    return HostTopology(two_cells(), pools)


MACHINES = (single_cell, four_cells, network_cards, graphics_cards, vdpa_card)


def _devices(addresses: Iterable[str], parent: str | None = None) -> tuple[Device, ...]:
    return tuple(Device(address, parent) for address in addresses)


def nameless(host: HostTopology) -> HostTopology:
    """The same as Nova reports it: pools have counts only."""
    pools = host.pools
    if pools is not None:
        pools = tuple(replace(pool, devices=()) for pool in pools)
    return replace(host, pools=pools, obeys=False)


# -- what is reported -------------------------------------------------------------


def nova_form(host: HostTopology, version: str = "1.5") -> dict[str, Any]:
    """Fields of compute_nodes as Nova's objects, with cells of this version."""
    cells = [nova("NUMACell", version, **_cell(one, version)) for one in host.cells]
    stats: dict[str, Any] = {
        "numa_topology": nova("NUMATopology", "1.2", cells=cells) if cells else None,
        "pci_stats": None,
    }
    if host.pools is not None:
        pools = [nova("PciDevicePool", "1.1", **_pool(one)) for one in host.pools]
        stats["pci_stats"] = nova("PciDevicePoolList", "1.1", objects=pools)
    return stats


def _cell(cell: HostCell, version: str) -> dict[str, Any]:
    minor = int(version.partition(".")[2])
    reserved = ("reserved",) if minor >= 3 else ()
    fields = {
        **_cell_fields(cell),
        "mempages": [
            nova("NUMAPagesTopology", f"1.{len(reserved)}", **_pages(one, *reserved))
            for one in cell.pages
        ],
        "network_metadata": nova("NetworkMetadata", "1.0", **_network(cell)),
    }
    for name, since in (("socket", 5), ("pcpuset", 4), ("network_metadata", 3)):
        if minor < since:
            del fields[name]
    return fields


def _cell_fields(cell: HostCell) -> dict[str, Any]:
    return {
        "id": cell.id,
        "cpuset": list(numbers_of(cell.cpus)),
        "pcpuset": list(numbers_of(cell.pcpus)),
        "memory": cell.memory,
        "cpu_usage": cell.cpu_usage,
        "memory_usage": cell.memory_usage,
        "pinned_cpus": list(numbers_of(cell.pinned)),
        "siblings": [list(numbers_of(one)) for one in cell.siblings],
        "socket": cell.socket,
    }


def _pages(one: Pages, *also: str) -> dict[str, Any]:
    fields = {"size_kb": one.size_kib, "total": one.total, "used": one.used}
    return {**fields, **{name: getattr(one, name) for name in also}}


def _network(cell: HostCell) -> dict[str, Any]:
    return {
        "physnets": sorted(cell.physical_networks),
        "tunneled": cell.is_tunnelled,
    }


def _pool(pool: Pool) -> dict[str, Any]:
    tags: dict[str, Any] = dict(pool.tags)
    if pool.rp_uuid is not None:
        tags["rp_uuid"] = pool.rp_uuid
    fields = {name: tags.pop(name) for name in ("vendor_id", "product_id")}
    return {**fields, "tags": tags, "numa_node": pool.numa_node, "count": pool.count}


def plain_form(host: HostTopology) -> dict[str, Any]:
    """The report of an agent of ours, whose hosts obey claims."""
    cells = [
        {
            **_cell_fields(cell),
            "mempages": [_pages(one, "reserved") for one in cell.pages],
            "network_metadata": _network(cell),
        }
        for cell in host.cells
    ]
    stats: dict[str, Any] = {
        "numa_topology": {"cells": cells} if cells else None,
        "obeys_claims": True,
        "pci_stats": None,
    }
    if host.pools is not None:
        stats["pci_stats"] = [
            {**_pool(pool), "devices": [_device(one) for one in pool.devices]}
            for pool in host.pools
        ]
    return stats


def _device(one: Device) -> dict[str, Any]:
    return {"address": one.address, "parent": one.parent}
