"""What Nova's notifications say of a request: its object, in fewer or other fields.

A table, since each payload is a list of fields. Names, versions and fields are facts of
Nova 34.0.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from gantt.model.forms.document import DATA, NAME, NAMESPACE, VERSION

Plain = dict[str, Any]


class _Payload(Struct, frozen=True):
    """``fields``: copied, null if unset. ``copied``: copied if set. ``parts``: objects
    or lists of them, null if unset."""

    name: str
    version: str
    fields: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}
    copied: tuple[str, ...] = ()
    copies_all: bool = False


# Nova's object -> its payload.
_PAYLOADS: Final[Mapping[str, _Payload]] = {
    "Flavor": _Payload(
        "FlavorPayload",
        "1.4",
        tuple(
            "flavorid memory_mb vcpus root_gb ephemeral_gb name swap rxtx_factor "
            "vcpu_weight disabled is_public extra_specs projects description".split()
        ),
    ),
    "ImageMeta": _Payload(
        "ImageMetaPayload",
        "1.0",
        tuple(
            "id name status visibility protected checksum owner size virtual_size "
            "container_format disk_format created_at updated_at tags direct_url "
            "min_ram min_disk".split()
        ),
        {"properties": "ImageMetaProps"},
    ),
    "ImageMetaProps": _Payload("ImageMetaPropsPayload", "1.20", copies_all=True),
    "InstanceNUMATopology": _Payload(
        "InstanceNUMATopologyPayload",
        "1.0",
        ("instance_uuid", "emulator_threads_policy"),
        {"cells": "InstanceNUMACell"},
    ),
    "InstanceNUMACell": _Payload(
        "InstanceNUMACellPayload",
        "1.2",
        tuple(
            "id cpuset pcpuset cpuset_reserved memory pagesize cpu_pinning_raw "
            "cpu_policy cpu_thread_policy".split()
        ),
        {"cpu_topology": "VirtCPUTopology"},
    ),
    "VirtCPUTopology": _Payload(
        "VirtCPUTopologyPayload", "1.0", ("sockets", "cores", "threads")
    ),
    "InstancePCIRequests": _Payload(
        "InstancePCIRequestsPayload",
        "1.0",
        ("instance_uuid",),
        {"requests": "InstancePCIRequest"},
    ),
    "InstancePCIRequest": _Payload(
        "InstancePCIRequestPayload",
        "1.1",
        ("count", "spec", "alias_name", "request_id", "numa_policy"),
    ),
    "Destination": _Payload(
        "DestinationPayload", "1.0", ("aggregates",), copied=("host", "node")
    ),
    "CellMapping": _Payload("CellMappingPayload", "2.0", ("uuid", "name", "disabled")),
    "InstanceGroup": _Payload(
        "ServerGroupPayload",
        "1.1",
        tuple(
            "uuid name user_id project_id policies members hosts policy rules".split()
        ),
    ),
    "RequestSpec": _Payload(
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
        },
    ),
}
_OMITTED: Final = "hw_ephemeral_encryption_secret_uuid"


def versioned(spec: Mapping[str, Any]) -> Plain:
    """The payload of ``spec``, the primitive of a RequestSpec."""
    data = _data(spec)
    found = _payload("RequestSpec", spec)
    mine = found[DATA]
    for name in ("force_hosts", "force_nodes"):
        mine[name] = next(iter(data.get(name) or ()), None)
    groups = data.get("security_groups")
    mine["security_groups"] = [
        _data(one).get("uuid") or _data(one).get("name")
        for one in (_data(groups).get("objects", ()) if groups else ())
    ]
    retry = data.get("retry")
    mine["retry"] = None if not retry else _retry(_data(retry))
    return found


def legacy(spec: Mapping[str, Any]) -> Plain:
    """The dict that preceded the object; its parts are plain as well."""
    data = _plain(spec)
    flavor = data.get("flavor") or {}
    names = "numa_topology pci_requests project_id user_id availability_zone".split()
    instance = {name: data[name] for name in names if name in data}
    if "instance_uuid" in data:
        instance["uuid"] = data["instance_uuid"]
    for name in ("root_gb", "ephemeral_gb", "memory_mb", "vcpus"):
        instance[name] = flavor.get(name)
    return {
        "num_instances": data.get("num_instances", 1),
        "image": data.get("image") or {},
        "instance_properties": instance,
        "instance_type": flavor,
    }


def _plain(value: Any) -> Any:
    """``value`` with the fields of an object in place of each."""
    if isinstance(value, dict):
        fields = value.get(DATA, value)
        if set(fields) == {"objects"}:
            return _plain(fields["objects"])
        return {name: _plain(one) for name, one in fields.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _payload(kind: str, value: Mapping[str, Any]) -> Plain:
    data, table = _data(value), _PAYLOADS[kind]
    found = {name: data.get(name) for name in table.fields}
    found |= {name: data[name] for name in table.copied if data.get(name) is not None}
    if table.copies_all:
        found |= {name: one for name, one in data.items() if name != _OMITTED}
    for name, part in table.parts.items():
        found[name] = _part(part, data.get(name))
    if kind == "InstanceGroup":
        found["rules"] = data.get("_rules") or {}
    if kind == "Destination" and data.get("cell"):
        found["cell"] = _payload("CellMapping", data["cell"])
    return _wrapped(table, found)


def _part(kind: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_payload(kind, one) for one in value]
    return _payload(kind, value) if value else None


def _retry(data: Mapping[str, Any]) -> Plain:
    nodes = _data(data["hosts"]).get("objects", ()) if data.get("hosts") else ()
    names = [_data(one).get("hypervisor_hostname") for one in nodes]
    found = {"num_attempts": data.get("num_attempts"), "hosts": names}
    return _wrapped(_Payload("SchedulerRetriesPayload", "1.0"), found)


def _wrapped(table: _Payload, data: Plain) -> Plain:
    return {
        NAME: table.name,
        NAMESPACE: "nova",
        VERSION: table.version,
        DATA: data,
    }


def _data(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value.get(DATA) or {}
    return found
