"""The old pair of dicts that preceded RequestSpec: ``request_spec`` and
``filter_properties``.

Separate from the versioned forms because names and nesting differ. Other parts of the
pair (an instance's other properties, limits) are not needed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.forms import nouns, scalars
from gantt.model.forms.document import Fields, Reading, lowered
from gantt.model.spec import Image, InstanceGroup, RequestSpec

_MARKS: Final = ("instance_type", "instance_properties")


def is_legacy(fields: Mapping[str, Any]) -> bool:
    """Whether this is the first of the pair."""
    return any(mark in fields for mark in _MARKS)


def read_pair(
    request_spec: Mapping[str, Any], filter_properties: Mapping[str, Any] | None
) -> RequestSpec:
    """The request that both together describe. Raises Invalid, which names the
    field."""
    reading = Reading()
    asked = Fields(request_spec, "request_spec", reading)
    at = "filter_properties"
    given = Fields(scalars.mapping(at, filter_properties or {}), at, reading)
    flavor = asked.one("instance_type", "Flavor", nouns.flavor)
    if flavor is None:
        raise Invalid("request_spec.instance_type is missing; it must be the flavor.")
    instance = asked.part("instance_properties", "Instance")
    if instance is None:
        instance = Fields({}, asked.at("instance_properties"), reading)
    return RequestSpec(
        flavor=flavor,
        image=_image(asked),
        num_instances=asked.get("num_instances", nouns.count) or 1,
        project_id=instance.text("project_id"),
        user_id=instance.text("user_id"),
        availability_zone=instance.text("availability_zone"),
        instance_uuid=instance.uuid("uuid"),
        numa_topology=instance.get("numa_topology", nouns.numa_topology),
        pci_requests=nouns.pci_requests(instance, "pci_requests"),
        ignore_hosts=given.names("ignore_hosts"),
        force_hosts=given.names("force_hosts"),
        force_nodes=given.names("force_nodes"),
        requested_destination=given.one(
            "requested_destination", "Destination", nouns.destination
        ),
        retry_hosts=given.one("retry", "SchedulerRetries", nouns.retry_hosts) or (),
        instance_group=_group(given),
        scheduler_hints=given.get("scheduler_hints", nouns.hints) or {},
    )


def _image(asked: Fields) -> Image | None:
    """An empty dict stood for "no image"."""
    if not lowered(asked.fields.get("image")):
        return None
    return asked.one("image", "ImageMeta", nouns.image)


def _group(given: Fields) -> InstanceGroup | None:
    """The group as an object, or in the pieces that older callers sent."""
    group = given.one("instance_group", "InstanceGroup", nouns.instance_group)
    if group is not None:
        return group
    if not given.flag("group_updated"):
        return None
    policies = given.names("group_policies")
    at = given.at("group_policies")
    return InstanceGroup(
        uuid=given.uuid("group_uuid") or "",
        policy=nouns.group_policy(at, policies[0]) if policies else None,
        members=given.uuids("group_members"),
        hosts=frozenset(given.names("group_hosts")),
    )
