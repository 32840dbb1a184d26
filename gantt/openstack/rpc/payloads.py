"""What Nova's notifications say of a request: its object, in fewer or other fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gantt.model.forms.document import DATA, NAME, NAMESPACE, VERSION
from gantt.model.forms.notification import PAYLOADS

Plain = dict[str, Any]
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
    data, table = _data(value), PAYLOADS[kind]
    found = {name: data.get(name) for name in table.fields}
    found |= {name: data[name] for name in table.copied if data.get(name) is not None}
    if table.copies_all:
        found |= {name: one for name, one in data.items() if name != _OMITTED}
    for name, part in table.parts.items():
        if data.get(name) or name not in table.copied:
            found[name] = _part(part, data.get(name))
    if kind == "InstanceGroup":
        found["rules"] = data.get("_rules") or {}
    if kind == "SchedulerRetries":
        nodes = _data(found["hosts"] or {}).get("objects", ())
        found["hosts"] = [_data(one).get("hypervisor_hostname") for one in nodes]
    return {
        NAME: table.name,
        NAMESPACE: "nova",
        VERSION: table.version,
        DATA: found,
    }


def _part(kind: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_payload(kind, one) for one in value]
    return _payload(kind, value) if value else None


def _data(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value.get(DATA) or {}
    return found
