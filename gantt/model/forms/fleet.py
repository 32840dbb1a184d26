"""Aggregates, instances, services and server groups, from Nova's objects, plain
objects of the same fields, or our own values.

Separate from the parts of a request: a scheduler receives these between requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import UNSET

from gantt.errors import Invalid
from gantt.model.fleet import CELL
from gantt.model.forms import nouns, scalars
from gantt.model.forms.document import Fields, Reading, lowered, opened, opened_all
from gantt.model.hosts import NAME, OWNER, HostAggregate, Instance, ServerGroup, Service
from gantt.model.names import canonical

T = TypeVar("T")

# Nova's other fields of a service, which are not used here.
_SERVICE_EXTRAS: Final = tuple(
    "id uuid topic report_count compute_node created_at updated_at "
    "deleted_at deleted".split()
)
_GROUP_EXTRAS: Final = tuple(
    "id user_id project_id hosts created_at updated_at deleted_at deleted".split()
)
_IMAGE_PREFIX: Final = "image_"


def read_aggregates(aggregates: Any) -> tuple[HostAggregate, ...]:
    """One aggregate, a list of them, or an AggregateList."""
    return _each(aggregates, HostAggregate, "Aggregate", "aggregates", _aggregate_of)


def _each(
    value: Any, own: type[T], kind: str, path: str, read: Callable[[Fields], T]
) -> tuple[T, ...]:
    """One, or a list in which each may be an ``own`` value, or Nova's list object."""
    if isinstance(value, own):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(
            one
            if isinstance(one, own)
            else read(opened(one, kind, f"{path}.{number}", Reading()))
            for number, one in enumerate(value)
        )
    return tuple(map(read, opened_all(value, kind, path, Reading())))


def _aggregate_of(part: Fields) -> HostAggregate:
    return HostAggregate(
        uuid=part.need("uuid", scalars.uuid),
        name=part.text("name") or "",
        id=part.number("id"),
        hosts=frozenset(part.names("hosts")),
        metadata=part.words("metadata"),
    )


def read_aggregate_key(aggregate: Any) -> tuple[str | None, int | None]:
    """(uuid, id in Nova) of an aggregate, at least one of them; also from the uuid or
    the id alone."""
    if isinstance(aggregate, HostAggregate):
        return aggregate.uuid, aggregate.id
    if isinstance(aggregate, str):
        return scalars.uuid("aggregate", aggregate), None
    if isinstance(aggregate, int):
        return None, scalars.amount("aggregate", aggregate)
    part = opened(aggregate, "Aggregate", "aggregate", Reading())
    uuid, number = part.get("uuid", scalars.uuid), part.number("id")
    if uuid is None and number is None:
        raise Invalid("Both aggregate.uuid and aggregate.id are missing; give one.")
    return uuid, number


def read_instances(instances: Any) -> tuple[Instance, ...]:
    """One instance, a list of them, or an InstanceList."""
    return _each(instances, Instance, "Instance", "instance_info", _instance_of)


def _instance_of(part: Fields) -> Instance:
    facts = {} if part.is_object else part.plain("facts")
    flavor = part.one("flavor", "Flavor", lambda flavor: flavor.text("flavorid"))
    flavor = flavor or (None if part.is_object else part.text("flavorid"))
    properties = _image_properties(part)
    for key in (NAME, OWNER):
        if (told := part.get(key, _cut)) is not None:
            facts[key] = told
    if flavor is not None:
        facts["flavorid"] = flavor
    if properties:
        facts["image_properties"] = properties
    saved_at = None if part.is_object else part.get("saved_at", scalars.moment)
    return Instance(part.need("uuid", scalars.uuid), facts, saved_at)


def _cut(_path: str, value: Any) -> str | None:
    """Refuses nothing: no message quotes a name, so that logs have none."""
    return scalars.cut(value) if isinstance(value, str) else None


def _image_properties(part: Fields) -> dict[str, str]:
    """Nova keeps those of an instance's image in its system metadata."""
    found = part.get("system_metadata", scalars.mapping) or {}
    at = part.at("system_metadata")
    return {
        key.removeprefix(_IMAGE_PREFIX): scalars.word(f"{at}.{key}", value)
        for key, value in found.items()
        if key.startswith(_IMAGE_PREFIX) and value is not None
    }


def read_uuids(path: str, uuids: Any) -> tuple[str, ...]:
    """A list of uuids of instances."""
    said = enumerate(scalars.items(path, uuids))
    return tuple([scalars.uuid(f"{path}.{number}", each) for number, each in said])


def read_service(service: Any) -> Service:
    """What is known of a service; fields that are left out stay UNSET."""
    if isinstance(service, Service):
        return service
    part = opened(service, "Service", "service", Reading(is_strict=True))
    readers = {
        "disabled": scalars.flag,
        "forced_down": scalars.flag,
        "last_seen_up": scalars.moment,
        "availability_zone": scalars.name,
        "cell_uuid": _cell,
        "version": scalars.whole,
        "disabled_reason": scalars.short,
    }
    said: dict[str, Any] = {
        name: part.get(name, read) if name in part.fields else UNSET
        for name, read in readers.items()
    }
    for name in ("disabled", "forced_down"):
        if said[name] is None:
            raise scalars.refusal(part.at(name), "true or false", None)
    host = part.need("host", scalars.name)
    binary = part.name("binary") or "nova-compute"
    part.done(*readers, *_SERVICE_EXTRAS)
    if binary == CELL:
        host = canonical(host)
    return Service(host=host, binary=binary, **said)


def _cell(path: str, value: Any) -> str:
    return canonical(scalars.name(path, value))


def read_server_group(group: Any) -> ServerGroup:
    """A server group as it is from now on."""
    if isinstance(group, ServerGroup):
        return group
    part = opened(group, "InstanceGroup", "group", Reading(is_strict=True))
    found = ServerGroup(
        uuid=part.need("uuid", scalars.uuid),
        name=part.text("name") or "",
        policy=nouns.policy(part),
        max_server_per_host=nouns.max_per_host(part),
        members=part.uuids("members"),
    )
    part.done("rules", nouns.MAX_PER_HOST, *_GROUP_EXTRAS)
    return found


def read_group_uuid(group: Any) -> str:
    """The uuid of a server group, from the group or by itself."""
    if isinstance(group, ServerGroup):
        return group.uuid
    group = lowered(group)
    if isinstance(group, str):
        return scalars.uuid("group", group)
    return opened(group, "InstanceGroup", "group", Reading()).need("uuid", scalars.uuid)
