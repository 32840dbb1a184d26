"""The payload of Nova's notifications ``scheduler.select_destinations.*``.

Separate from ``spec`` because a RequestSpecPayload has other shapes than a RequestSpec,
and less in it. Not in any payload (as of Nova 34): ``is_bfv``, ``requested_resources``
(of ports and accelerators), ``request_level_params``, ``requested_networks``,
``network_metadata``, all forced hosts but the first, a destination's
``forbidden_aggregates`` and ``allow_cross_cell_move``, the service hosts of ``retry``,
and of several instances all uuids but one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.forms import scalars
from gantt.model.forms.document import (
    DATA,
    NAME,
    NAMESPACE,
    VERSION,
    VERSIONS,
    check_version,
)
from gantt.model.forms.primitive import wrapped
from gantt.model.forms.spec import read_spec
from gantt.model.spec import RequestSpec


class Payload(Struct, frozen=True):
    """What is said of an object. ``fields``: as it has them, null if unset; ``copied``:
    only if set. ``parts``: objects or lists of them, in the same way."""

    name: str
    version: str
    fields: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}
    copied: tuple[str, ...] = ()
    copies_all: bool = False


PAYLOADS: Final[Mapping[str, Payload]] = {
    "Flavor": Payload(
        "FlavorPayload",
        "1.4",
        tuple(
            "flavorid memory_mb vcpus root_gb ephemeral_gb name swap rxtx_factor "
            "vcpu_weight disabled is_public extra_specs projects description".split()
        ),
    ),
    "ImageMeta": Payload(
        "ImageMetaPayload",
        "1.0",
        tuple(
            "id name status visibility protected checksum owner size virtual_size "
            "container_format disk_format created_at updated_at tags direct_url "
            "min_ram min_disk".split()
        ),
        {"properties": "ImageMetaProps"},
    ),
    "ImageMetaProps": Payload("ImageMetaPropsPayload", "1.20", copies_all=True),
    "InstanceNUMATopology": Payload(
        "InstanceNUMATopologyPayload",
        "1.0",
        ("instance_uuid", "emulator_threads_policy"),
        {"cells": "InstanceNUMACell"},
    ),
    "InstanceNUMACell": Payload(
        "InstanceNUMACellPayload",
        "1.2",
        tuple(
            "id cpuset pcpuset cpuset_reserved memory pagesize cpu_pinning_raw "
            "cpu_policy cpu_thread_policy".split()
        ),
        {"cpu_topology": "VirtCPUTopology"},
    ),
    "VirtCPUTopology": Payload(
        "VirtCPUTopologyPayload", "1.0", ("sockets", "cores", "threads")
    ),
    "InstancePCIRequests": Payload(
        "InstancePCIRequestsPayload",
        "1.0",
        ("instance_uuid",),
        {"requests": "InstancePCIRequest"},
    ),
    "InstancePCIRequest": Payload(
        "InstancePCIRequestPayload",
        "1.1",
        ("count", "spec", "alias_name", "request_id", "numa_policy"),
    ),
    "Destination": Payload(
        "DestinationPayload",
        "1.0",
        ("aggregates",),
        {"cell": "CellMapping"},
        copied=("host", "node", "cell"),
    ),
    "CellMapping": Payload("CellMappingPayload", "2.0", ("uuid", "name", "disabled")),
    "SchedulerRetries": Payload(
        "SchedulerRetriesPayload", "1.0", ("num_attempts", "hosts")
    ),
    "InstanceGroup": Payload(
        "ServerGroupPayload",
        "1.1",
        tuple(
            "uuid name user_id project_id policies members hosts policy rules".split()
        ),
    ),
    "RequestSpec": Payload(
        "RequestSpecPayload",
        "1.1",
        tuple(
            "ignore_hosts instance_uuid project_id user_id availability_zone "
            "num_instances scheduler_hints".split()
        ),
        {
            "flavor": "Flavor",
            "image": "ImageMeta",
            "numa_topology": "InstanceNUMATopology",
            "pci_requests": "InstancePCIRequests",
            "requested_destination": "Destination",
            "instance_group": "InstanceGroup",
            "retry": "SchedulerRetries",
        },
    ),
}
"""Nova's object -> its payload in Nova 34; of a newer minor version, unknown fields are
ignored."""


def read_observed(document: Any) -> RequestSpec:
    """A payload, or any other form of a request. Raises Invalid, which names the object
    and the field."""
    if (
        isinstance(document, Mapping)
        and document.get(NAME) == PAYLOADS["RequestSpec"].name
    ):
        return read_payload(document)
    return read_spec(document)


def read_payload(payload: Any) -> RequestSpec:
    """The request that a payload describes. ``is_bfv`` is inferred: an instance that
    boots from a volume has no image, or one without an id."""
    found = _fields("RequestSpec", "payload", payload)
    image = found.get("image")
    found["is_bfv"] = image is None or image[DATA].get("id") is None
    for name in ("force_hosts", "force_nodes"):
        value = found.get(name)
        found[name] = [] if value is None else [value]
    spec = read_spec(wrapped("RequestSpec", found))
    # What a payload lacks is not unset: plug-ins read it as empty.
    return replace(spec, unset=frozenset(), nulls=frozenset())


def _fields(kind: str, path: str, value: Any) -> dict[str, Any]:
    """The fields of the object that a payload was made of. Raises Invalid."""
    table = PAYLOADS[kind]
    data = _opened(path, value, table)
    for name, part in table.parts.items():
        found = data.pop(name, None)
        # An object that no filter reads is left out.
        if found is not None and part in VERSIONS:
            data[name] = _part(part, f"{path}.{name}", found)
    if kind == "InstanceGroup":
        data["_rules"] = data.pop("rules", None)
    if kind == "SchedulerRetries":
        data["hosts"] = _nodes(f"{path}.hosts", data.get("hosts") or ())
    return data


def _opened(path: str, value: Any, table: Payload) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.get(NAME) != table.name:
        name = value.get(NAME) if isinstance(value, Mapping) else value
        raise scalars.refusal(f"{path} {NAME}", repr(table.name), name)
    namespace = value.get(NAMESPACE, "nova")
    if namespace != "nova":
        raise scalars.refusal(f"{path} {NAMESPACE}", "'nova'", namespace)
    check_version(f"{path} ({table.name})", value.get(VERSION), table.version)
    data = value.get(DATA)
    if not isinstance(data, Mapping):
        raise scalars.refusal(f"{path} {DATA}", "an object", data)
    return dict(data)


def _part(kind: str, path: str, value: Any) -> Any:
    """An object, without nulls: in payloads they may stand for fields that are not set;
    or a list of objects as they are."""
    if isinstance(value, list | tuple):
        each = (_fields(kind, f"{path}.{n}", one) for n, one in enumerate(value))
        return [wrapped(kind, one) for one in each]
    found = _fields(kind, path, value)
    return wrapped(kind, {key: one for key, one in found.items() if one is not None})


def _nodes(path: str, names: Any) -> dict[str, Any]:
    """Nodes alone are named: their hosts are taken to have the same names."""
    objects = [
        wrapped("ComputeNode", {"host": node, "hypervisor_hostname": node})
        for node in scalars.items(path, names)
    ]
    return wrapped("ComputeNodeList", {"objects": objects})
