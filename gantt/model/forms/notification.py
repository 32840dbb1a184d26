"""The payload of Nova's notifications ``scheduler.select_destinations.*``.

Separate from ``spec`` because a RequestSpecPayload has other shapes than a RequestSpec,
and less in it. Not in any payload (as of Nova 34): ``is_bfv``, ``requested_resources``
(of ports and accelerators), ``request_level_params``, ``requested_networks``,
``network_metadata``, all forced hosts but the first, a destination's
``forbidden_aggregates`` and ``allow_cross_cell_move``, the service hosts of ``retry``,
and of several instances all uuids but one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from gantt.model.forms import scalars
from gantt.model.forms.document import DATA, NAME, NAMESPACE, VERSION, check_version
from gantt.model.forms.primitive import wrapped
from gantt.model.forms.spec import read_spec
from gantt.model.spec import RequestSpec

PAYLOAD: Final = "RequestSpecPayload"
_SUFFIX: Final = "Payload"
_KNOWN: Final = {
    PAYLOAD: "1.1",
    "FlavorPayload": "1.4",
    "ImageMetaPayload": "1.0",
    "ImageMetaPropsPayload": "1.20",
    "ServerGroupPayload": "1.1",
    "InstanceNUMATopologyPayload": "1.0",
    "InstanceNUMACellPayload": "1.2",
    "VirtCPUTopologyPayload": "1.0",
    "InstancePCIRequestsPayload": "1.0",
    "InstancePCIRequestPayload": "1.1",
    "DestinationPayload": "1.0",
    "SchedulerRetriesPayload": "1.0",
    "CellMappingPayload": "2.0",
}
"""Payloads of Nova 34; of a newer minor version, unknown fields are ignored."""

_Fields = dict[str, Any]


def read_observed(document: Any) -> RequestSpec:
    """A payload, or any other form of a request. Raises Invalid, which names the object
    and the field."""
    if isinstance(document, Mapping) and document.get(NAME) == PAYLOAD:
        return read_payload(document)
    return read_spec(document)


def read_payload(payload: Any) -> RequestSpec:
    """The request that a payload describes. ``is_bfv`` is inferred: an instance that
    boots from a volume has no image, or one without an id."""
    data = _opened("payload", payload, PAYLOAD)
    image = _one(data, "image", "ImageMetaPayload", _image)
    is_bfv = image is None or image[DATA].get("id") is None
    found = {
        **_plain(data, "availability_zone", "instance_uuid", "num_instances"),
        **_plain(data, "project_id", "user_id", "scheduler_hints", "ignore_hosts"),
        "flavor": _one(data, "flavor", "FlavorPayload", _same("Flavor")),
        "image": image,
        "is_bfv": is_bfv,
        "force_hosts": _list_of_one(data, "force_hosts"),
        "force_nodes": _list_of_one(data, "force_nodes"),
        "instance_group": _one(data, "instance_group", "ServerGroupPayload", _group),
        "numa_topology": _one(
            data, "numa_topology", "InstanceNUMATopologyPayload", _numa
        ),
        "pci_requests": _one(data, "pci_requests", "InstancePCIRequestsPayload", _pci),
        "requested_destination": _one(
            data, "requested_destination", "DestinationPayload", _destination
        ),
        "retry": _one(data, "retry", "SchedulerRetriesPayload", _retry),
    }
    spec = read_spec(wrapped("RequestSpec", found))
    # What a payload lacks is not unset: plug-ins read it as empty.
    return replace(spec, unset=frozenset(), nulls=frozenset())


def _opened(path: str, value: Any, kind: str) -> _Fields:
    """The fields of a payload of this kind. Raises Invalid."""
    if not isinstance(value, Mapping) or value.get(NAME) != kind:
        name = value.get(NAME) if isinstance(value, Mapping) else value
        raise scalars.refusal(f"{path} {NAME}", repr(kind), name)
    namespace = value.get(NAMESPACE, "nova")
    if namespace != "nova":
        raise scalars.refusal(f"{path} {NAMESPACE}", "'nova'", namespace)
    check_version(f"{path} ({kind})", value.get(VERSION), _KNOWN[kind])
    data = value.get(DATA)
    if not isinstance(data, Mapping):
        raise scalars.refusal(f"{path} {DATA}", "an object", data)
    return dict(data)


def _one(
    data: _Fields, name: str, kind: str, read: Callable[[_Fields], _Fields]
) -> _Fields | None:
    value = data.get(name)
    return None if value is None else read(_opened(f"payload.{name}", value, kind))


def _many(data: _Fields, name: str, kind: str) -> list[_Fields]:
    items = scalars.items(f"payload.{name}", data.get(name) or ())
    return [
        _opened(f"payload.{name}.{number}", each, kind)
        for number, each in enumerate(items)
    ]


def _plain(data: _Fields, *names: str) -> _Fields:
    return {name: data[name] for name in names if name in data}


def _set(data: _Fields) -> _Fields:
    """Without nulls: in payloads they may stand for fields that are not set."""
    return {name: value for name, value in data.items() if value is not None}


def _same(kind: str) -> Callable[[_Fields], _Fields]:
    return lambda data: wrapped(kind, _set(data))


def _list_of_one(data: _Fields, name: str) -> list[Any]:
    value = data.get(name)
    return [] if value is None else [value]


def _image(data: _Fields) -> _Fields:
    image = _set(data)
    image["properties"] = _one(
        data, "properties", "ImageMetaPropsPayload", _same("ImageMetaProps")
    )
    return wrapped("ImageMeta", _set(image))


def _group(data: _Fields) -> _Fields:
    group = _set(data)
    group["_rules"] = group.pop("rules", None)
    return wrapped("InstanceGroup", _set(group))


def _destination(data: _Fields) -> _Fields:
    place = _set(data)
    place["cell"] = _one(data, "cell", "CellMappingPayload", _same("CellMapping"))
    return wrapped("Destination", _set(place))


def _retry(data: _Fields) -> _Fields:
    """Nodes alone are named: their hosts are taken to have the same names."""
    nodes = scalars.items("payload.retry.hosts", data.get("hosts") or ())
    objects = [
        wrapped("ComputeNode", {"host": node, "hypervisor_hostname": node})
        for node in nodes
    ]
    tried = wrapped("ComputeNodeList", {"objects": objects})
    return wrapped("SchedulerRetries", {"hosts": tried})


def _pci(data: _Fields) -> _Fields:
    kind = "InstancePCIRequest"
    requests = [wrapped(kind, each) for each in _many(data, "requests", kind + _SUFFIX)]
    return wrapped("InstancePCIRequests", {**_set(data), "requests": requests})


def _numa(data: _Fields) -> _Fields:
    kind = "InstanceNUMACell"
    given = _many(data, "cells", kind + _SUFFIX)
    cells = [wrapped(kind, _cell(each)) for each in given]
    return wrapped("InstanceNUMATopology", {**_set(data), "cells": cells})


def _cell(data: _Fields) -> _Fields:
    """Its CPU topology is left out: no filter reads it."""
    return {name: value for name, value in data.items() if name != "cpu_topology"}
