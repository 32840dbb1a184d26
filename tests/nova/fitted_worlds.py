"""Random hosts with NUMA cells and devices that a report may have, and flavors and
ports that ask for some: about half of the requests find a host."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from gantt.model.forms.spec import read_spec
from gantt.model.forms.stats import read_stats
from gantt.model.spec import Image, NetworkMetadata, RequestSpec
from gantt.model.topology import HostCell, HostTopology, Pages
from gantt.scheduler.options import SchedulerOptions
from tests.nova import fits
from tests.nova.upstream import uuid_of
from tests.scheduler.fleets import Plain, Plan
from tests.topology.synthetic import nova_form

BOTH = ("NUMATopologyFilter", "PciPassthroughFilter")
_NIC = {"vendor_id": "8086", "product_id": "10ed"}
ALIASES: tuple[dict[str, Any], ...] = (
    {"name": "any", **_NIC},
    {"name": "card", **_NIC, "device_type": "type-PCI"},
    {"name": "vf", **_NIC, "device_type": "type-VF"},
    {"name": "pf", **_NIC, "product_id": "1572", "device_type": "type-PF"},
    {"name": "near", **_NIC, "numa_policy": "required"},
)
_KIB = 1024


class Ask(NamedTuple):
    """Devices of ports, as Neutron and Nova's API describe them; ``is_given``: the
    request bears topology and devices as Nova's API made them."""

    ports: tuple[dict[str, Any], ...]
    is_given: bool


# -- hosts ----------------------------------------------------------------------------


def machine(dice: Random, *, in_books: bool = False) -> HostTopology:
    """Now and then with no cells, or no devices."""
    cells = fits._host_cells(dice) if dice.random() < 0.9 else ()
    cells = tuple(
        replace(cell, pages=_that_fit(cell.memory, cell.pages)) for cell in cells
    )
    return HostTopology(cells, fits._pools(dice, in_books))


def _that_fit(memory_mb: int, pages: tuple[Pages, ...]) -> tuple[Pages, ...]:
    """Pages of all sizes are not more than the memory of the cell."""
    free = memory_mb * _KIB
    found = []
    for number, one in enumerate(pages):
        total = min(one.total, free // one.size_kib // (len(pages) - number))
        used = min(one.used, total)
        reserved = min(one.reserved, total - used)
        found.append(Pages(one.size_kib, total, used, reserved))
        free -= total * one.size_kib
    return tuple(found)


def _with_pages(cell: HostCell) -> HostCell:
    small = (Pages(4, cell.memory * _KIB // 4),)
    return replace(cell, pages=cell.pages or small)


def reported(host: HostTopology) -> Plain:
    """As it is stored of a report in Nova's form."""
    found = read_stats(nova_form(host))
    return {"numa_topology": found.numa_topology, "pci_stats": found.pci_stats}


def with_cells(plan: Plan, dice: Random, *, has_pages: bool = False) -> Plan:
    """The same fleet, where most hosts have cells and devices. ``has_pages``: each cell
    reports some; without, Nova cannot consume it."""
    made = [machine(dice) for _ in plan.hosts]
    if has_pages:
        made = [replace(one, cells=tuple(map(_with_pages, one.cells))) for one in made]
    hosts = [
        {**host, **reported(one)} for host, one in zip(plan.hosts, made, strict=True)
    ]
    return Plan(hosts, plan.aggregates, plan.groups, plan.claims)


# -- requests -------------------------------------------------------------------------


def extra_specs(dice: Random) -> dict[str, str]:
    """Of a flavor of 4 vCPUs and 1024 MB, or of 2 nodes."""
    found: dict[str, str] = {}
    if dice.random() < 0.8:
        found["hw:numa_nodes"] = dice.choice(("1", "1", "1", "2", "2", "4"))
    policy = dice.choice((None, "shared", "dedicated", "dedicated", "mixed"))
    if policy is not None:
        found["hw:cpu_policy"] = policy
    if policy == "mixed":
        found["hw:cpu_dedicated_mask"] = dice.choice(("0", "^0", "0-1"))
    if policy in ("dedicated", "mixed"):
        threads = dice.choice((None, None, "prefer", "isolate", "require"))
        if threads is not None:
            found["hw:cpu_thread_policy"] = threads
        # Beside isolated vCPUs Nova's fit is known to differ (test_topology_known).
        if threads != "isolate" and dice.random() < 0.1:
            found["hw:emulator_threads_policy"] = "isolate"
    size = dice.choice((None, None, None, "small", "large", "any", "2MB", "4"))
    if size is not None:
        found["hw:mem_page_size"] = size
    if dice.random() < 0.4:
        return devices(dice) | found
    return found


def devices(dice: Random) -> dict[str, str]:
    names = dice.sample(
        ("any", "any", "card", "vf", "pf", "near"), dice.choice((1, 1, 2))
    )
    parts = (f"{name}:{dice.choice((1, 1, 2, 3))}" for name in names)
    found = {"pci_passthrough:alias": ",".join(parts)}
    if dice.random() < 0.5:
        found["hw:pci_numa_affinity_policy"] = dice.choice(fits.AFFINITIES)
    return found


def _none(_: Random) -> dict[str, str]:
    return {}


def ports(dice: Random) -> tuple[dict[str, Any], ...]:
    if dice.random() < 0.85:
        return ()
    found = []
    for number in range(dice.choice((1, 1, 2))):
        wanted: dict[str, Any] = {"physical_network": dice.choice(fits.NETWORKS)}
        if dice.random() < 0.3:
            wanted["dev_type"] = dice.choice(("type-PF", "type-VF", "vdpa"))
        if dice.random() < 0.2:
            wanted["remote_managed"] = dice.choice(("True", "False"))
        one = {"count": 1, "spec": [wanted], "request_id": uuid_of(f"p{number}")}
        if dice.random() < 0.3:
            one["numa_policy"] = dice.choice(fits.AFFINITIES)
        found.append(one)
    return tuple(found)


def asking(spec: RequestSpec, dice: Random) -> tuple[RequestSpec, Ask]:
    """The same request for another flavor: with cells, devices, or both."""
    kind = dice.choice((extra_specs, extra_specs, extra_specs, devices, _none))
    flavor = replace(
        spec.flavor,
        vcpus=dice.choice((4, 4, 2, 2, 8)),
        memory_mb=dice.choice((1024, 512, 512, 2048)),
        extra_specs={**spec.flavor.extra_specs, **kind(dice)},
    )
    near = NetworkMetadata()
    if dice.random() < 0.2:
        few = frozenset(one for one in fits.NETWORKS if dice.random() < 0.4)
        near = NetworkMetadata(few, dice.random() < 0.3)
    made = replace(
        spec,
        flavor=flavor,
        image=spec.image or Image(),
        network_metadata=near,
        requested_resources=(),
    )
    return made, Ask(ports(dice), dice.random() < 0.5)


def with_fitting(
    options: SchedulerOptions, dice: Random, filters: tuple[tuple[str, ...], ...]
) -> SchedulerOptions:
    """Either order of filling cells; one of these sets of filters, beside others or
    alone."""
    others = options.enabled_filters if dice.random() < 0.5 else ()
    return replace(
        options,
        packing_host_numa_cells_allocation_strategy=dice.random() < 0.5,
        pci_alias=ALIASES,
        enabled_filters=(*others, *dice.choice(filters)),
    )


def as_given(spec: RequestSpec, primitive: Mapping[str, Any]) -> RequestSpec:
    """``spec`` with the topology and the devices of Nova's object."""
    read = read_spec(primitive)
    return replace(
        spec, numa_topology=read.numa_topology, pci_requests=read.pci_requests
    )
