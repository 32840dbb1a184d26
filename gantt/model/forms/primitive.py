"""``RequestSpec`` as the primitive of Nova's object.

Separate from reading: here each field is written with its own name and kind. A request
that was read from such an object keeps its unset and null fields (``unset``,
``nulls``); others have all fields set that Nova's object requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from gantt.model.forms import nouns
from gantt.model.forms.document import (
    DATA,
    NAME,
    NAMESPACE,
    VERSION,
    VERSIONS,
    is_envelope,
)
from gantt.model.spec import (
    Destination,
    Image,
    InstanceGroup,
    NetworkMetadata,
    RequestedNetwork,
    RequestLevel,
    RequestSpec,
    ResourceGroup,
)


def wrapped(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The primitive of a Nova object of ``kind`` with these fields set."""
    return {
        NAME: kind,
        NAMESPACE: "nova",
        VERSION: VERSIONS[kind],
        DATA: dict(data),
    }


def spec_primitive(spec: RequestSpec) -> dict[str, Any]:
    """The primitive of a RequestSpec object."""
    return _Writer(spec).spec()


_OWN = ("retry_hosts", "unset", "nulls", "version", "labels")


class _Writer:
    """Writes one request; ``path`` is that of an object within it, with its dot."""

    def __init__(self, spec: RequestSpec) -> None:
        self._spec = spec

    def spec(self) -> dict[str, Any]:
        spec = self._spec
        level, near = spec.request_level_params, spec.network_metadata
        data = _fields(spec, without=_OWN) | {
            "image": spec.image and self._image(spec.image),
            "numa_topology": spec.numa_topology and _numa(spec.numa_topology),
            "pci_requests": _pci(spec),
            "flavor": self._object("Flavor", "flavor.", _fields(spec.flavor), ("id",)),
            "requested_destination": spec.requested_destination
            and self._destination(spec.requested_destination),
            "retry": _retry(spec.retry_hosts),
            "instance_group": spec.instance_group and self._group(spec.instance_group),
            "requested_resources": [
                self._resources(each, f"requested_resources.{number}.")
                for number, each in enumerate(spec.requested_resources)
            ],
            "request_level_params": self._object(
                "RequestLevelParams", "request_level_params.", _fields(level)
            ),
            "requested_networks": self._networks(spec.requested_networks),
            "network_metadata": self._object(
                "NetworkMetadata", "network_metadata.", _fields(near)
            ),
        }
        is_empty = {
            "retry": not spec.retry_hosts,
            "pci_requests": not spec.pci_requests,
            "num_instances": spec.num_instances == 1,
            "request_level_params": level == RequestLevel(),
            "requested_networks": not spec.requested_networks,
            "network_metadata": near == NetworkMetadata(),
        }
        return self._object("RequestSpec", "", data, ("instance_uuid",), is_empty)

    def _object(
        self,
        kind: str,
        path: str,
        data: dict[str, Any],
        required: Iterable[str] = (),
        is_empty: Mapping[str, bool] | None = None,
    ) -> dict[str, Any]:
        """An object of the fields to write: empty ones as they were read. ``required``:
        Nova's object cannot have null there, so None is unset."""
        written: dict[str, Any] = {}
        for name, value in data.items():
            empty = (is_empty or {}).get(name, not value)
            if empty and path + name in self._spec.unset:
                continue
            if empty and path + name in self._spec.nulls:
                written[name] = None
            elif value is not None or name not in required:
                written[name] = value
        return wrapped(kind, written)

    def _image(self, image: Image) -> dict[str, Any]:
        data = {
            "id": image.id,
            "disk_format": image.disk_format,
            "properties": wrapped("ImageMetaProps", image.properties),
        }
        is_empty = {"properties": not image.properties}
        required = ("id", "disk_format")
        return self._object("ImageMeta", "image.", data, required, is_empty)

    def _destination(self, place: Destination) -> dict[str, Any]:
        data = _fields(place, without=("cell_uuid",)) | {
            "cell": place.cell_uuid
            and wrapped("CellMapping", {"uuid": place.cell_uuid}),
            "aggregates": [",".join(sorted(each)) for each in place.aggregates],
        }
        return self._object("Destination", "requested_destination.", data, ("host",))

    def _resources(self, group: ResourceGroup, path: str) -> dict[str, Any]:
        is_empty = {"use_same_provider": group.use_same_provider}
        return self._object("RequestGroup", path, _fields(group), (), is_empty)

    def _group(self, group: InstanceGroup) -> dict[str, Any]:
        # Nova's filters read both names of the policy, so both are written.
        limit = {nouns.MAX_PER_HOST: str(group.max_server_per_host)}
        data = _fields(group, without=("max_server_per_host",)) | {
            "uuid": group.uuid or None,
            "policies": [group.policy] if group.policy else [],
            "_rules": limit if group.max_server_per_host != 1 else {},
        }
        was_unset = "instance_group.policies" in self._spec.unset
        is_empty = {"policies": was_unset or not group.policy}
        return self._object(
            "InstanceGroup", "instance_group.", data, ("uuid",), is_empty
        )

    def _networks(self, networks: Iterable[RequestedNetwork]) -> dict[str, Any]:
        objects = [
            self._object(
                "NetworkRequest",
                f"requested_networks.{number}.",
                _fields(each, without=("segments", "trouble")),
            )
            for number, each in enumerate(networks)
        ]
        return wrapped("NetworkRequestList", {"objects": objects})


def _fields(value: Struct, *, without: Iterable[str] = ()) -> dict[str, Any]:
    """What Nova's object has under the same names, as lists and plain objects."""
    names = (name for name in value.__struct_fields__ if name not in without)
    return {name: _listed(getattr(value, name)) for name in names}


def _listed(value: Any) -> Any:
    """Sets in order, and tuples as lists."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_listed(one) for one in value]
    if isinstance(value, dict):
        return {key: _listed(one) for key, one in value.items()}
    return value


def _retry(hosts: Iterable[tuple[str, str]]) -> dict[str, Any] | None:
    """The number of attempts is unknown here: that field stays unset."""
    nodes = [
        wrapped("ComputeNode", {"host": host, "hypervisor_hostname": node})
        for host, node in hosts
    ]
    if not nodes:
        return None
    tried = wrapped("ComputeNodeList", {"objects": nodes})
    return wrapped("SchedulerRetries", {"hosts": tried})


def _pci(spec: RequestSpec) -> dict[str, Any]:
    requests = [wrapped("InstancePCIRequest", each) for each in spec.pci_requests]
    holder: dict[str, Any] = {"requests": requests}
    if spec.instance_uuid and "pci_requests.instance_uuid" not in spec.unset:
        holder["instance_uuid"] = spec.instance_uuid
    return wrapped("InstancePCIRequests", holder)


def _numa(topology: dict[str, Any]) -> dict[str, Any]:
    """A plain object gets the names that Nova's reader asks for."""
    if is_envelope(topology):
        return topology
    cells = [
        each if is_envelope(each) else wrapped("InstanceNUMACell", each)
        for each in topology.get("cells") or ()
    ]
    return wrapped("InstanceNUMATopology", {**topology, "cells": cells})
