"""``Selection`` as Nova's object and as the dict that preceded it.

Separate from the requests: these are answers, and only written.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from gantt.model.forms.document import is_envelope
from gantt.model.forms.primitive import wrapped
from gantt.model.selection import Limits, Selection

NO_ALLOCATIONS = "null"


def selection_primitive(selection: Selection) -> dict[str, Any]:
    """The primitive of a Selection 1.1. Fields that cannot be null and are not known
    (a host without a uuid, or in no cell) are unset; ``limits`` is an object in any
    case, as Nova's scheduler sends it."""
    data = {
        "compute_node_uuid": selection.compute_node_uuid,
        "service_host": selection.service_host,
        "nodename": selection.nodename,
        "cell_uuid": selection.cell_uuid,
        "limits": _limits(selection.limits or Limits()),
        "allocation_request": selection.allocation_request or NO_ALLOCATIONS,
        "allocation_request_version": selection.allocation_request_version,
        "availability_zone": selection.availability_zone,
    }
    for required in ("compute_node_uuid", "cell_uuid"):
        if data[required] is None:
            del data[required]
    return wrapped("Selection", data)


def _limits(limits: Limits) -> dict[str, Any]:
    """All four fields: Nova cannot load one that is left out."""
    return wrapped(
        "SchedulerLimits",
        {
            "numa_topology": _numa_limits(limits.numa_topology),
            "vcpu": limits.vcpu,
            "disk_gb": limits.disk_gb,
            "memory_mb": limits.memory_mb,
        },
    )


def _numa_limits(limits: dict[str, Any] | None) -> dict[str, Any] | None:
    if limits is None or is_envelope(limits):
        return limits
    networks = limits.get("network_metadata")
    if networks is not None and not is_envelope(networks):
        limits = {**limits, "network_metadata": wrapped("NetworkMetadata", networks)}
    return wrapped("NUMATopologyLimits", limits)


def selection_dict(selection: Selection) -> dict[str, Any]:
    """``{host, nodename, limits}``; ``limits`` holds those that are set."""
    limits = {} if selection.limits is None else asdict(selection.limits)
    limits["numa_topology"] = _numa_limits(limits.get("numa_topology"))
    return {
        "host": selection.service_host,
        "nodename": selection.nodename,
        "limits": {name: limit for name, limit in limits.items() if limit is not None},
    }
