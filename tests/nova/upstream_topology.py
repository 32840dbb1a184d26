"""Nova's objects and functions for NUMA cells and PCI devices, made from our values.

Nova takes CPUs as Python iterates a set, which for numbers above 7 need not be
ascending (docs/deviations.md). Within ``ascending`` its sets of free CPUs are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nova import objects
    from nova.pci.stats import PciDeviceStats
    from nova.virt import hardware

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import (
    DeviceRequest,
    Fit,
    FitLack,
    HostCell,
    HostTopology,
    InstanceCell,
    Pool,
    Wanted,
)
from tests.nova.upstream import CONF, uuid_of

Place = tuple[int, dict[int, int], int, int | None]
"""Host cell, pinning, CPUs of the emulator, page size."""


class Ascending(set[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(sorted(super().__iter__()))


@contextmanager
def ascending() -> Iterator[None]:
    cell = objects.NUMACell
    siblings, cpus = cell.free_siblings.fget, cell.free_pcpus.fget
    with (
        mock.patch.object(
            cell,
            "free_siblings",
            property(lambda self: [Ascending(core) for core in siblings(self)]),
        ),
        mock.patch.object(
            cell, "free_pcpus", property(lambda self: Ascending(cpus(self)))
        ),
    ):
        yield


@contextmanager
def packing(packs: bool) -> Iterator[None]:
    name = "packing_host_numa_cells_allocation_strategy"
    CONF.set_override(name, packs, "compute")
    try:
        yield
    finally:
        CONF.clear_override(name, "compute")


# -- values into objects --------------------------------------------------------------


def host_topology(host: HostTopology) -> Any:
    return objects.NUMATopology(cells=[_host_cell(cell) for cell in host.cells])


def _host_cell(cell: HostCell) -> Any:
    return objects.NUMACell(
        id=cell.id,
        cpuset=set(numbers_of(cell.cpus)),
        pcpuset=set(numbers_of(cell.pcpus)),
        memory=cell.memory,
        cpu_usage=cell.cpu_usage,
        memory_usage=cell.memory_usage,
        pinned_cpus=set(numbers_of(cell.pinned)),
        siblings=[set(numbers_of(core)) for core in cell.siblings],
        mempages=[
            objects.NUMAPagesTopology(
                size_kb=one.size_kib,
                total=one.total,
                used=one.used,
                reserved=one.reserved,
            )
            for one in cell.pages
        ],
        network_metadata=objects.NetworkMetadata(
            physnets=set(cell.physical_networks), tunneled=cell.is_tunnelled
        ),
        socket=cell.socket,
    )


def instance_topology(wanted: Wanted) -> Any:
    return objects.InstanceNUMATopology(
        cells=[_instance_cell(cell) for cell in wanted.cells],
        emulator_threads_policy="isolate" if wanted.isolates_emulator else None,
    )


def _instance_cell(cell: InstanceCell) -> Any:
    return objects.InstanceNUMACell(
        id=cell.id,
        cpuset=set(numbers_of(cell.cpus)),
        pcpuset=set(numbers_of(cell.pcpus)),
        memory=cell.memory,
        pagesize=cell.page_kib,
        cpu_policy=cell.policy,
        cpu_thread_policy=cell.threads,
    )


def limits(wanted: Wanted) -> Any:
    if wanted.cpu_ratio is None or wanted.ram_ratio is None:
        return None
    return objects.NUMATopologyLimits(
        cpu_allocation_ratio=wanted.cpu_ratio,
        ram_allocation_ratio=wanted.ram_ratio,
        network_metadata=objects.NetworkMetadata(
            physnets=set(wanted.physical_networks), tunneled=wanted.is_tunnelled
        ),
    )


def request_id(request: DeviceRequest) -> str:
    """Nova's are uuids."""
    return uuid_of(str(request.request_id))


def device_requests(requests: tuple[DeviceRequest, ...]) -> list[Any]:
    return [
        objects.InstancePCIRequest(
            count=request.count,
            spec=[dict(wanted) for wanted in request.wanted],
            alias_name="alias" if request.is_of_flavor else None,
            request_id=request_id(request),
            numa_policy=request.affinity,
        )
        for request in requests
    ]


def as_pool(pool: Pool) -> dict[str, Any]:
    """``pool`` as Nova keeps it in memory."""
    tags = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in pool.tags.items()
    }
    provider = {"rp_uuid": pool.rp_uuid} if pool.rp_uuid else {}
    return {"count": pool.count, "numa_node": pool.numa_node, **provider, **tags}


def device_stats(host: HostTopology, topology: Any) -> Any:
    """Nova's host states have them even where the host reports no devices."""
    stats = PciDeviceStats(topology)
    stats.pools = [as_pool(pool) for pool in host.pools or ()]
    return stats


def mapping(
    requests: tuple[DeviceRequest, ...], providers: Mapping[str, tuple[str, ...]]
) -> dict[str, list[str]]:
    """``providers`` by the suffixes that Nova's requests have."""
    found: dict[str, list[str]] = {}
    for request in requests:
        for place, suffix in enumerate(request.suffixes):
            if suffix in providers:
                found[f"{request_id(request)}-{place}"] = list(providers[suffix])
    return found


# -- what Nova says -------------------------------------------------------------------


class Sides:
    """One host as Nova holds it, and an instance on its way there."""

    def __init__(
        self,
        host: HostTopology,
        wanted: Wanted,
        providers: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.wanted = wanted
        self.topology = host_topology(host)
        self.stats = device_stats(host, self.topology)
        self.requests = device_requests(wanted.devices)
        self.mapping = mapping(wanted.devices, providers)
        self.fitted: Any = None

    def fits(self) -> bool:
        """As PciPassthroughFilter asks, and for an instance with cells
        NUMATopologyFilter too; a compute that claims asks both."""
        if self.requests and not self.stats.support_requests(
            self.requests, self.mapping
        ):
            return False
        return not self.wanted.cells or self.fits_near()

    def fits_near(self) -> bool:
        """As NUMATopologyFilter asks."""
        self.fitted = hardware.numa_fit_instance_to_host(
            self.topology,
            instance_topology(self.wanted),
            self.mapping,
            limits=limits(self.wanted),
            pci_requests=self.requests,
            pci_stats=self.stats,
        )
        return self.fitted is not None

    def placed(self) -> list[Place]:
        return [place_of(cell) for cell in self.fitted.cells] if self.fitted else []

    def supports(self, fitted: list[Any], hosts: list[Any]) -> bool:
        """Devices and networks of a placement."""
        if self.requests and not self.stats.support_requests(
            self.requests, self.mapping, fitted
        ):
            return False
        bounds = limits(self.wanted)
        return bounds is None or bool(
            hardware._numa_cells_support_network_metadata(
                self.topology, hosts, bounds.network_metadata
            )
        )

    def consume_devices(self) -> None:
        """As the scheduler does for the next instance of a request."""
        if self.requests:
            cells = self.fitted.cells if self.fitted else None
            self.stats.apply_requests(self.requests, self.mapping, cells)

    def consume_cells(self) -> None:
        self.topology = hardware.numa_usage_from_instance_numa(
            self.topology, self.fitted
        )

    def left(self) -> list[dict[str, Any]]:
        return [
            {
                "pinned": mask_of(cell.pinned_cpus),
                "cpu_usage": cell.cpu_usage,
                "memory_usage": cell.memory_usage,
                "pages": [(one.size_kb, one.used) for one in cell.mempages],
            }
            for cell in self.topology.cells
        ]

    def pools(self) -> list[dict[str, Any]]:
        return list(self.stats.pools)


def place_of(cell: Any) -> Place:
    """Where Nova puts a cell of an instance."""
    emulator = mask_of(cell.cpuset_reserved or ())
    return cell.id, dict(cell.cpu_pinning or {}), emulator, cell.pagesize


# -- what we say, in the same form ----------------------------------------------------


def placed(ours: Fit | FitLack) -> list[Place]:
    if isinstance(ours, FitLack):
        return []
    return [
        (cell.host_cell, dict(cell.pinning), cell.emulator, cell.page_kib)
        for cell in ours.cells
    ]


def host_left(host: HostTopology) -> list[dict[str, Any]]:
    return [
        {
            "pinned": cell.pinned,
            "cpu_usage": cell.cpu_usage,
            "memory_usage": cell.memory_usage,
            "pages": [(one.size_kib, one.used) for one in cell.pages],
        }
        for cell in host.cells
    ]
