"""Nova's own NUMATopologyFilter and PciPassthroughFilter on prepared host states."""

from __future__ import annotations

import logging
import time
from statistics import median
from typing import Any

import nova.conf
from nova import objects
from nova.pci.stats import PciDeviceStats
from nova.scheduler import filters, host_manager
from nova.virt import hardware

from bench import topology
from gantt.model.forms.primitive import spec_primitive
from gantt.model.spec import RequestSpec

ROUNDS = 2  # of half a minute each with 10,000 hosts


def seconds_per_request(count: int, spec: RequestSpec) -> float:
    """The median of two requests over ``count`` hosts, the first one not counted."""
    logging.getLogger("nova").setLevel(logging.CRITICAL)
    objects.register_all()
    nova.conf.CONF([], project="nova", default_config_files=[])
    handler = filters.HostFilterHandler()
    known = {one.__name__: one for one in filters.all_filters()}
    enabled = [known[name]() for name in topology.FILTERS]
    states = [_state(number) for number in range(count)]
    asked = objects.RequestSpec.obj_from_primitive(spec_primitive(spec))
    image = objects.ImageMeta(properties=objects.ImageMetaProps())
    asked.image, asked.instance_uuid = image, "00000000-0000-4000-9000-000000000001"
    asked.numa_topology = hardware.numa_get_constraints(asked.flavor, image)
    taken = []
    for _ in range(1 + ROUNDS):
        began = time.perf_counter()
        passing = list(handler.get_filtered_objects(enabled, states, asked))
        taken.append(time.perf_counter() - began)
        if not passing:
            raise RuntimeError(f"none of {count} hosts passed")
    return median(taken[1:])


def _state(number: int) -> host_manager.HostState:
    """As ``topology.cells`` and ``topology.pools`` describe host ``number``."""
    state = host_manager.HostState(f"host{number}", f"host{number}", "cell")
    state.uuid = f"00000000-0000-4000-8000-{number:012x}"
    state.cpu_allocation_ratio = state.ram_allocation_ratio = 1.0
    state.numa_topology = objects.NUMATopology(
        cells=[_cell(said) for said in topology.cells(number)]
    )
    state.pci_stats = PciDeviceStats(state.numa_topology)
    state.pci_stats.pools = [_pool(said) for said in topology.pools(number)]
    state.allocation_candidates = [{"allocations": {}, "mappings": {}}]
    return state


def _cell(said: dict[str, Any]) -> objects.NUMACell:
    sets = {name: set(said[name]) for name in ("cpuset", "pcpuset", "pinned_cpus")}
    network = objects.NetworkMetadata(physnets=set(), tunneled=False)
    return objects.NUMACell(
        **{
            **said,
            **sets,
            "siblings": [set(core) for core in said["siblings"]],
            "mempages": [objects.NUMAPagesTopology(**one) for one in said["mempages"]],
            "network_metadata": network,
        }
    )


def _pool(said: dict[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in said.items() if name != "tags"}
    return {**flat, **said["tags"]}
