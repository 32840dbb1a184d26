"""Any form of a request to ``RequestSpec``, and back to the primitive of Nova's object.

The forms: our own (``msgspec.to_builtins`` of a RequestSpec), the primitive of a Nova
RequestSpec 1.x or such an object in Python, and the old pair of dicts (``legacy``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gantt.errors import Invalid
from gantt.model.forms import legacy, nouns, scalars
from gantt.model.forms.document import (
    Fields,
    Reading,
    check_version,
    is_envelope,
    lowered,
    opened,
)
from gantt.model.spec import SPEC_VERSION, NetworkMetadata, RequestLevel, RequestSpec

ROOT = "request_spec"


def read_spec(
    request_spec: Any, filter_properties: Mapping[str, Any] | None = None
) -> RequestSpec:
    """The request in ``request_spec``; ``filter_properties`` goes with the old dict.

    Raises Invalid, which names the field: it cannot be understood, or it is of a
    newer major version.
    """
    if isinstance(request_spec, RequestSpec):
        _refuse_properties(filter_properties)
        return request_spec
    request_spec = lowered(request_spec)
    if is_envelope(request_spec):
        _refuse_properties(filter_properties)
        return _from_object(request_spec)
    fields = scalars.mapping(ROOT, request_spec)
    if filter_properties is not None or legacy.is_legacy(fields):
        return legacy.read_pair(fields, filter_properties)
    return _from_native(fields)


def _refuse_properties(filter_properties: Any) -> None:
    if filter_properties:
        raise Invalid(
            "filter_properties belongs to the old form of a request, a "
            "dict with instance_type: put everything into request_spec, "
            "or send the old pair."
        )


def _from_object(primitive: Mapping[str, Any]) -> RequestSpec:
    reading = Reading()
    part = opened(primitive, "RequestSpec", ROOT, reading)
    spec = _fields(part)
    return replace(
        spec,
        retry_hosts=part.one("retry", "SchedulerRetries", nouns.retry_hosts) or (),
        unset=frozenset(reading.unset),
        nulls=frozenset(reading.nulls),
    )


def _from_native(fields: Mapping[str, Any]) -> RequestSpec:
    version = fields.get("version", SPEC_VERSION)
    is_newer = check_version(ROOT, version, SPEC_VERSION)
    part = Fields(fields, ROOT, Reading(is_strict=not is_newer))
    spec = _fields(part)
    spec = replace(
        spec,
        retry_hosts=part.get("retry_hosts", nouns.tried_hosts) or (),
        unset=frozenset(part.names("unset")),
        nulls=frozenset(part.names("nulls")),
        labels=part.one("labels", "", nouns.labels),
    )
    part.done("version")
    return spec


def _fields(part: Fields) -> RequestSpec:
    """The fields that Nova's object and our own form have under the same name."""
    flavor = part.one("flavor", "Flavor", nouns.flavor)
    if flavor is None:
        raise Invalid(f"{part.at('flavor')} is missing; a request must have a flavor.")
    level = part.one("request_level_params", "RequestLevelParams", nouns.request_level)
    near = part.one("network_metadata", "NetworkMetadata", nouns.network_metadata)
    return RequestSpec(
        flavor=flavor,
        image=part.one("image", "ImageMeta", nouns.image),
        num_instances=part.get("num_instances", nouns.count) or 1,
        project_id=part.text("project_id"),
        user_id=part.text("user_id"),
        availability_zone=part.text("availability_zone"),
        instance_uuid=part.uuid("instance_uuid"),
        ignore_hosts=part.names("ignore_hosts"),
        force_hosts=part.names("force_hosts"),
        force_nodes=part.names("force_nodes"),
        requested_destination=part.one(
            "requested_destination", "Destination", nouns.destination
        ),
        instance_group=part.one(
            "instance_group", "InstanceGroup", nouns.instance_group
        ),
        scheduler_hints=part.get("scheduler_hints", nouns.hints) or {},
        is_bfv=part.flag("is_bfv"),
        requested_resources=part.many(
            "requested_resources", "RequestGroup", nouns.resource_group
        ),
        request_level_params=RequestLevel() if level is None else level,
        requested_networks=part.many(
            "requested_networks", "NetworkRequest", nouns.network
        ),
        network_metadata=NetworkMetadata() if near is None else near,
        numa_topology=part.get("numa_topology", nouns.numa_topology),
        pci_requests=nouns.pci_requests(part, "pci_requests"),
    )
