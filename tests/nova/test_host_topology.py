"""What Nova's own objects write of a host is read as Nova reads it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from nova import objects
from nova.objects import pci_device_pool
from nova.pci import stats as pci_stats
from nova.virt import hardware

from gantt.model.cpu_sets import mask_of
from gantt.model.forms.device_pools import read_pools
from gantt.model.forms.host_topology import read_cells
from gantt.model.forms.stats import read_stats
from gantt.model.topology import HostCell, Pages, Pool
from tests.nova import upstream

assert upstream.VERSION  # it registers Nova's objects
SEEDS = range(40)
VERSIONS = ("1.2", "1.3", "1.4", "1.5")


def topology(rng: random.Random) -> objects.NUMATopology:
    """Cells with siblings, pages, pinned CPUs, networks."""
    width, is_smt = rng.choice((2, 4, 8)), rng.random() < 0.5
    cells = []
    for number in range(rng.randint(1, 4)):
        cpus = list(range(number * width, (number + 1) * width))
        shared = set(cpus[: rng.randint(0, width)])
        pinnable = set(cpus) - shared if rng.random() < 0.7 else set(cpus)
        pairs = [set(cpus[n : n + 2]) for n in range(0, width, 2)]
        pages = [
            objects.NUMAPagesTopology(size_kb=4, total=1000, used=3, reserved=2),
            objects.NUMAPagesTopology(size_kb=2048, total=4, used=rng.randint(0, 4)),
        ]
        networks = {"physnet0"} if rng.random() < 0.5 else set()
        cells.append(
            objects.NUMACell(
                id=number,
                cpuset=shared,
                pcpuset=pinnable,
                memory=64,
                cpu_usage=rng.randint(0, 3),
                memory_usage=rng.randint(0, 64),
                pinned_cpus=set(rng.sample(sorted(pinnable), len(pinnable) // 2)),
                siblings=pairs if is_smt else [{cpu} for cpu in cpus],
                mempages=pages[: rng.randint(0, 2)],
                network_metadata=objects.NetworkMetadata(
                    physnets=networks, tunneled=rng.random() < 0.5
                ),
                socket=rng.choice((None, 0, 1)),
            )
        )
    rng.shuffle(cells)
    return objects.NUMATopology(cells=cells)


def as_value(cell: objects.NUMACell) -> HostCell:
    """Nova's object field by field."""
    has_networks = "network_metadata" in cell
    networks = cell.network_metadata if has_networks else None
    return HostCell(
        cell.id,
        mask_of(cell.cpuset),
        mask_of(cell.pcpuset if "pcpuset" in cell else cell.cpuset),
        cell.memory,
        mask_of(cell.pinned_cpus),
        tuple(mask_of(one) for one in cell.siblings),
        cell.cpu_usage,
        cell.memory_usage,
        tuple(
            Pages(one.size_kb, one.total, one.used, one.total - one.used - one.free)
            for one in cell.mempages
        ),
        frozenset(networks.physnets if networks else ()),
        bool(networks and networks.tunneled),
        cell.socket if "socket" in cell else None,
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_topologies_are_read_as_nova_reads_them(seed: int, version: str) -> None:
    made = topology(random.Random(seed))
    if version < "1.4":
        for cell in made.cells:
            cell.cpuset = cell.pcpuset = cell.cpuset | cell.pcpuset
    primitive = made.obj_to_primitive()
    manifest = {
        "NUMACell": version,
        "NUMAPagesTopology": "1.0" if version == "1.2" else "1.1",
        "NetworkMetadata": "1.0",
    }
    cells = [
        cell.obj_to_primitive(target_version=version, version_manifest=manifest)
        for cell in made.cells
    ]
    primitive["nova_object.data"]["cells"] = cells
    known = objects.NUMATopology.obj_from_primitive(json.loads(json.dumps(primitive)))
    wanted = tuple(as_value(cell) for cell in known.cells)
    for sent in (primitive, json.dumps(primitive)):
        stored = read_stats({"numa_topology": sent}).numa_topology
        assert read_cells("t", stored) == wanted
    if version == VERSIONS[-1]:
        assert read_cells("t", made._to_json()) == wanted
        assert read_cells("t", made) == wanted


def test_topologies_from_before_liberty_are_read_as_nova_reads_them() -> None:
    cells = [
        {"id": n, "cpus": f"{4 * n}-{4 * n + 3}", "mem": {"total": 64, "used": 8}}
        for n in range(2)
    ]
    text = json.dumps({"cells": cells})
    made = objects.NUMATopology.from_legacy_object(text)
    assert read_cells("t", text) == read_cells("t", made)


def test_nova_overcommits_the_smallest_pages() -> None:
    """The reason why more of them may be used than there are."""
    pages = [objects.NUMAPagesTopology(size_kb=4, total=16_384, used=0, reserved=0)]
    cell = objects.NUMACell(
        id=0,
        cpuset={0, 1},
        pcpuset=set(),
        memory=64,
        cpu_usage=0,
        memory_usage=0,
        pinned_cpus=set(),
        siblings=[],
        mempages=pages,
        socket=None,
    )
    host = objects.NUMATopology(cells=[cell])
    asked = objects.InstanceNUMATopology(
        cells=[
            objects.InstanceNUMACell(
                id=0, cpuset={0}, pcpuset=set(), memory=64, pagesize=None
            )
        ]
    )
    for _ in range(2):
        fitted = hardware.numa_fit_instance_to_host(host, asked, None)
        assert fitted is not None
        host = hardware.numa_usage_from_instance_numa(host, fitted)
    found = read_cells("t", host._to_json())
    assert found[0].pages == (Pages(4, 16_384, used=32_768),)


def pools(rng: random.Random) -> list[dict[str, Any]]:
    """Pools as Nova's resource tracker counts them, tags among the fields."""
    every = {
        "physical_network": "physnet0",
        "remote_managed": "false",
        "trusted": "true",
        "rp_uuid": "00000000-0000-4000-8000-000000000001",
        "parent_ifname": "ens0",
    }
    return [
        {
            "vendor_id": "8086",
            "product_id": str(number),
            "numa_node": rng.choice((None, 0, 1)),
            "dev_type": rng.choice(("type-PF", "type-VF", "type-PCI", "vdpa")),
            "count": rng.randint(1, 9),
            **{name: every[name] for name in _some(rng, every)},
        }
        for number in range(rng.randint(0, 6))
    ]


def _some(rng: random.Random, names: dict[str, str]) -> list[str]:
    return rng.sample(sorted(names), rng.randint(0, len(names)))


def as_pool(fields: dict[str, Any]) -> Pool:
    tags = dict(fields)
    count, node = tags.pop("count"), tags.pop("numa_node", None)
    return Pool(count, node, tags, tags.pop("rp_uuid", None))


@pytest.mark.parametrize("seed", SEEDS)
def test_pools_are_read_and_ordered_as_nova_does(seed: int) -> None:
    sent = pools(random.Random(seed))
    made = pci_device_pool.from_pci_stats(sent)
    known = pci_stats.PciDeviceStats(objects.NUMATopology(cells=[]), stats=made)
    wanted = tuple(as_pool(pool) for pool in known.pools)
    for form in (sent, json.dumps(sent), made, json.dumps(made.obj_to_primitive())):
        stored = read_stats({"pci_stats": form}).pci_stats
        assert read_pools("p", stored) == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_pools_without_cells_are_read_as_nova_reads_them(seed: int) -> None:
    """Version 1.0 of Nova's objects."""
    made = pci_device_pool.from_pci_stats(pools(random.Random(seed)))
    manifest = {"PciDevicePool": "1.0"}
    sent = made.obj_to_primitive(target_version="1.0", version_manifest=manifest)
    read = objects.PciDevicePoolList.obj_from_primitive(sent)
    assert not any("numa_node" in one for one in read)
    known = pci_stats.PciDeviceStats(objects.NUMATopology(cells=[]), stats=read)
    wanted = tuple(as_pool(pool) for pool in known.pools)
    for form in (sent, json.dumps(sent)):
        stored = read_stats({"pci_stats": form}).pci_stats
        assert read_pools("p", stored) == wanted
