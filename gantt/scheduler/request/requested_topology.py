"""What an instance asks to be fitted: NUMA cells, pinned CPUs, pages and devices.

From a request to ``Wanted``. A topology or PCI requests that the request bears, as
Nova's API makes them, are taken as they are; otherwise they are derived from flavor and
image by the rules of that API. Separate from ``shape``, which asks for amounts alone.
"""

from __future__ import annotations

from typing import Final

from gantt.errors import Invalid
from gantt.model.forms.instance_topology import GivenTopology, read_instance_topology
from gantt.model.spec import RequestSpec
from gantt.model.topology import Wanted
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request import cpus, numa_cells, requested_devices

TOPOLOGY_FILTER: Final = "NUMATopologyFilter"
DEVICES_FILTER: Final = "PciPassthroughFilter"
FITTING_FILTERS: Final = frozenset({TOPOLOGY_FILTER, DEVICES_FILTER})


def wanted_of(
    spec: RequestSpec, options: SchedulerOptions, filters: frozenset[str]
) -> Wanted | None:
    """What ``spec`` asks of a host beyond amounts, as far as ``filters`` (names of
    those that apply; none where hosts are forced) enforce it; None: nothing.

    NUMATopologyFilter enforces cells, devices near them and networks near them;
    PciPassthroughFilter devices. Ratios are left open: they are the host's. Raises
    Invalid, with key and value: a topology that contradicts itself or never fits,
    whichever filters apply; devices that cannot be, where a filter enforces them.
    """
    given = topology_of(spec)
    if TOPOLOGY_FILTER not in filters:
        given = None
    if given is None and DEVICES_FILTER not in filters:
        return None
    wanted = requested_devices.wanted(spec, options.pci_alias)
    if given is None:
        return Wanted(devices=wanted) if wanted else None
    networks = spec.network_metadata
    return Wanted(
        cells=given.cells,
        isolates_emulator=given.isolates_emulator,
        devices=wanted,
        physical_networks=networks.physnets,
        is_tunnelled=networks.tunneled,
        most_steps=options.topology_steps,
    )


def topology_of(spec: RequestSpec) -> GivenTopology | None:
    """The cells that ``spec`` bears, or those that follow from flavor and image. None:
    it asks for none, or says so itself (null in Nova's object). Raises Invalid."""
    if spec.numa_topology is not None:
        given = read_instance_topology(spec.numa_topology)
        _check_isolated(given)
        return given
    if "numa_topology" in spec.nulls or _is_plain(spec):
        return None
    pinning = cpus.pinning(spec)
    found = numa_cells.cells_of(spec, pinning)
    if not found:
        return None
    derived = GivenTopology(found, pinning.isolates_emulator)
    _check_isolated(derived)
    return derived


def _check_isolated(topology: GivenTopology) -> None:
    """A node of a mixed instance may have no pinned vCPU: then no host isolates any."""
    for place, cell in enumerate(topology.cells):
        if cell.pcpus or cell.policy not in ("dedicated", "mixed"):
            continue
        is_first = topology.isolates_emulator and place == 0
        if not is_first and cell.threads != "isolate":
            continue
        key = "hw:emulator_threads_policy" if is_first else "hw:cpu_thread_policy"
        raise Invalid(
            f"{key}=isolate, and NUMA node {place} of the instance has no pinned vCPU: "
            "no host fits that; pin a vCPU of this node (hw:cpu_dedicated_mask), or "
            "choose another policy"
        )


def _is_plain(spec: RequestSpec) -> bool:
    return not spec.flavor.extra_specs and (
        spec.image is None or not spec.image.properties
    )
