"""``RequestSpec`` as the primitive of Nova's object.

Separate from reading: here each field is written with its own name and kind. A request
that was read from such an object keeps its unset and null fields (``unset``,
``nulls``); others have all fields set that Nova's object requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
    Flavor,
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


class _Writer:
    """Writes one request; ``path`` is that of an object within it, with its dot."""

    def __init__(self, spec: RequestSpec) -> None:
        self._spec = spec

    def spec(self) -> dict[str, Any]:
        spec = self._spec
        data: dict[str, Any] = {
            "image": spec.image and self._image(spec.image),
            "numa_topology": spec.numa_topology and _numa(spec.numa_topology),
            "pci_requests": _pci(spec),
            "project_id": spec.project_id,
            "user_id": spec.user_id,
            "availability_zone": spec.availability_zone,
            "flavor": self._flavor(spec.flavor),
            "num_instances": spec.num_instances,
            "ignore_hosts": list(spec.ignore_hosts),
            "force_hosts": list(spec.force_hosts),
            "force_nodes": list(spec.force_nodes),
            "requested_destination": spec.requested_destination
            and self._destination(spec.requested_destination),
            "retry": _retry(spec.retry_hosts),
            "instance_group": spec.instance_group and self._group(spec.instance_group),
            "scheduler_hints": {k: list(v) for k, v in spec.scheduler_hints.items()},
            "instance_uuid": spec.instance_uuid,
            "is_bfv": spec.is_bfv,
            "requested_resources": [
                self._resources(each, f"requested_resources.{number}.")
                for number, each in enumerate(spec.requested_resources)
            ],
            "request_level_params": self._level(spec.request_level_params),
            "requested_networks": self._networks(spec.requested_networks),
            "network_metadata": self._near(spec.network_metadata),
        }
        is_empty = {
            "retry": not spec.retry_hosts,
            "pci_requests": not spec.pci_requests,
            "num_instances": spec.num_instances == 1,
            "request_level_params": spec.request_level_params == RequestLevel(),
            "requested_networks": not spec.requested_networks,
            "network_metadata": spec.network_metadata == NetworkMetadata(),
        }
        required = ("instance_uuid",)
        return wrapped("RequestSpec", self._set(data, "", required, is_empty))

    def _set(
        self,
        data: dict[str, Any],
        path: str,
        required: Iterable[str] = (),
        is_empty: Mapping[str, bool] | None = None,
    ) -> dict[str, Any]:
        """The fields to write: empty ones as they were read. ``required``: Nova's
        object cannot have null there, so None is unset."""
        written: dict[str, Any] = {}
        for name, value in data.items():
            empty = (is_empty or {}).get(name, not value)
            if empty and path + name in self._spec.unset:
                continue
            if empty and path + name in self._spec.nulls:
                written[name] = None
            elif value is not None or name not in required:
                written[name] = value
        return written

    def _flavor(self, flavor: Flavor) -> dict[str, Any]:
        data = {
            "id": flavor.id,
            "name": flavor.name,
            "memory_mb": flavor.memory_mb,
            "vcpus": flavor.vcpus,
            "root_gb": flavor.root_gb,
            "ephemeral_gb": flavor.ephemeral_gb,
            "flavorid": flavor.flavorid,
            "swap": flavor.swap,
            "extra_specs": dict(flavor.extra_specs),
        }
        return wrapped("Flavor", self._set(data, "flavor.", ("id",)))

    def _image(self, image: Image) -> dict[str, Any]:
        data = {
            "id": image.id,
            "disk_format": image.disk_format,
            "properties": wrapped("ImageMetaProps", image.properties),
        }
        is_empty = {"properties": not image.properties}
        written = self._set(data, "image.", ("id", "disk_format"), is_empty)
        return wrapped("ImageMeta", written)

    def _destination(self, place: Destination) -> dict[str, Any]:
        cell = place.cell_uuid and wrapped("CellMapping", {"uuid": place.cell_uuid})
        data = {
            "host": place.host,
            "node": place.node,
            "cell": cell,
            "aggregates": [",".join(sorted(each)) for each in place.aggregates],
            "allow_cross_cell_move": place.allow_cross_cell_move,
            "forbidden_aggregates": sorted(place.forbidden_aggregates),
        }
        written = self._set(data, "requested_destination.", ("host",))
        return wrapped("Destination", written)

    def _resources(self, group: ResourceGroup, path: str) -> dict[str, Any]:
        data = {
            "use_same_provider": group.use_same_provider,
            "resources": dict(group.resources),
            "required_traits": sorted(group.required_traits),
            "forbidden_traits": sorted(group.forbidden_traits),
            "aggregates": [sorted(each) for each in group.aggregates],
            "forbidden_aggregates": sorted(group.forbidden_aggregates),
            "requester_id": group.requester_id,
            "in_tree": group.in_tree,
        }
        is_empty = {"use_same_provider": group.use_same_provider}
        return wrapped("RequestGroup", self._set(data, path, (), is_empty))

    def _level(self, level: RequestLevel) -> dict[str, Any]:
        data = {
            "root_required": sorted(level.root_required),
            "root_forbidden": sorted(level.root_forbidden),
            "same_subtree": [sorted(each) for each in level.same_subtree],
        }
        written = self._set(data, "request_level_params.")
        return wrapped("RequestLevelParams", written)

    def _near(self, networks: NetworkMetadata) -> dict[str, Any]:
        data = {"physnets": sorted(networks.physnets), "tunneled": networks.tunneled}
        return wrapped("NetworkMetadata", self._set(data, "network_metadata."))

    def _group(self, group: InstanceGroup) -> dict[str, Any]:
        # Nova's filters read both names of the policy, so both are written.
        limit = {nouns.MAX_PER_HOST: str(group.max_server_per_host)}
        data = {
            "uuid": group.uuid or None,
            "policy": group.policy,
            "policies": [group.policy] if group.policy else [],
            "_rules": limit if group.max_server_per_host != 1 else {},
            "members": sorted(group.members),
            "hosts": sorted(group.hosts),
        }
        was_unset = "instance_group.policies" in self._spec.unset
        is_empty = {"policies": was_unset or not group.policy}
        written = self._set(data, "instance_group.", ("uuid",), is_empty)
        return wrapped("InstanceGroup", written)

    def _networks(self, networks: Iterable[RequestedNetwork]) -> dict[str, Any]:
        objects = []
        for number, each in enumerate(networks):
            data = {
                "network_id": each.network_id,
                "address": each.address,
                "port_id": each.port_id,
            }
            written = self._set(data, f"requested_networks.{number}.")
            objects.append(wrapped("NetworkRequest", written))
        return wrapped("NetworkRequestList", {"objects": objects})


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
