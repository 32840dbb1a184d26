"""Hosts of two small NUMA cells, and requests for their CPUs and devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.hosts import HostStats
from gantt.model.selection import Selection
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions

FILTERS = (*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter")
PINNED = RequestSpec(Flavor(2, 64, extra_specs={"hw:cpu_policy": "dedicated"}))
NIC: dict[str, Any] = {"vendor_id": "8086", "product_id": "154c", "dev_type": "type-VF"}
WITH_NIC = replace(
    PINNED, pci_requests=({"count": 1, "request_id": "nic", "spec": [NIC]},)
)
TWO_CELLS = replace(
    PINNED,
    flavor=replace(
        PINNED.flavor,
        vcpus=4,
        extra_specs={"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2"},
    ),
)


def cell_of(
    number: int, cpus: Iterable[int], pinned: Iterable[int] = (), **more: Any
) -> dict[str, Any]:
    """A cell as hosts report it."""
    return {
        "id": number,
        "cpuset": [],
        "pcpuset": list(cpus),
        "pinned_cpus": list(pinned),
        "memory": 1024,
        "siblings": [],
        "mempages": [],
        **more,
    }


def cell(number: int, pinned: tuple[int, ...]) -> dict[str, Any]:
    """One of two CPUs."""
    cpus = (2 * number, 2 * number + 1)
    return cell_of(number, cpus, [cpu for cpu in cpus if cpu in pinned])


def report(engine: Gantt, host: str, *pinned: int, **more: Any) -> None:
    """Two cells of two CPUs each."""
    cells = [cell(0, pinned), cell(1, pinned)]
    facts = {"vcpus": 64, "memory_mb": 65_536, "local_gb": 100, **more}
    facts.setdefault("numa_topology", {"cells": cells})
    engine.update_host(host, host, HostStats(**facts))


def options(**more: Any) -> EngineOptions:
    wanted = {"enabled_filters": FILTERS, **more}
    return EngineOptions(scheduler=SchedulerOptions(**wanted))


def uuid(number: int) -> str:
    return f"55555555-5555-4555-8555-{number:012d}"


def place(
    engine: Gantt, *numbers: int, spec: RequestSpec = PINNED, **more: Any
) -> list[Selection]:
    """The selected host of each instance."""
    request = ScheduleRequest(spec, tuple(map(uuid, numbers)), **more)
    return [mine for mine, *_ in engine.schedule(request)]


def hosts(found: list[Selection]) -> list[str]:
    return sorted(one.service_host for one in found)
