"""The parts of a request, each read from ``Fields``: Nova's objects, plain objects of
the same fields, and our own form alike.

Separate from ``spec``, which reads whole requests, because the legacy pair of dicts has
the same parts.
"""

from __future__ import annotations

from typing import Any, Final

from gantt.errors import Invalid
from gantt.model.bounds import MAX_EXTRA_SPECS
from gantt.model.forms import scalars
from gantt.model.forms.document import Fields, lowered
from gantt.model.forms.instance_topology import readable_topology
from gantt.model.names import canonical
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    InstanceGroup,
    LabelTerms,
    NetworkMetadata,
    RequestedNetwork,
    RequestLevel,
    ResourceGroup,
)

POLICIES: Final = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
MAX_PER_HOST: Final = "max_server_per_host"

# What images called these before their names had prefixes.
OLD_PROPERTIES: Final = {
    "architecture": "hw_architecture",
    "auto_disk_config": "hw_auto_disk_config",
    "hypervisor_type": "img_hv_type",
    "hypervisor_version_requires": "img_hv_requested_version",
    "owner_id": "img_owner_id",
    "vm_mode": "hw_vm_mode",
    "vmware_disktype": "hw_disk_type",
    "vmware_image_version": "img_version",
    "vmware_ostype": "os_distro",
}
REQUIRED_TRAIT: Final = "trait:"
UUID_HINTS: Final = frozenset({"group", "same_host", "different_host"})
"""Hints whose values are uuids; that of a group may be its name."""


def flavor(part: Fields) -> Flavor:
    """The size."""
    found = Flavor(
        vcpus=part.amount("vcpus"),
        memory_mb=part.amount("memory_mb"),
        root_gb=part.amount("root_gb"),
        ephemeral_gb=part.amount("ephemeral_gb"),
        swap=part.amount("swap"),
        name=part.text("name"),
        flavorid=part.get("flavorid", scalars.word) or "",
        id=part.number("id"),
        extra_specs=_extra_specs(part),
    )
    part.done()
    return found


def _extra_specs(part: Fields) -> dict[str, str]:
    found = part.words("extra_specs")
    if len(found) > MAX_EXTRA_SPECS:
        raise Invalid(
            f"{part.at('extra_specs')} has {len(found)} keys; the limit "
            f"is {MAX_EXTRA_SPECS}."
        )
    return found


def image(part: Fields) -> Image:
    """The image and those of its properties that are set."""
    found = Image(
        id=part.text("id"),
        disk_format=part.text("disk_format"),
        properties=part.one("properties", "ImageMetaProps", _image_properties) or {},
    )
    part.done()
    return found


def _image_properties(part: Fields) -> dict[str, Any]:
    given = scalars.plain(part.path, part.fields)
    properties = {}
    traits = list(part.names("traits_required"))
    for key, value in given.items():
        if key.startswith(REQUIRED_TRAIT):
            if value != "required":
                wanted = "'required', all that an image may say of a trait"
                raise scalars.refusal(part.at(key), wanted, value)
            traits.append(key.removeprefix(REQUIRED_TRAIT))
        else:
            properties[OLD_PROPERTIES.get(key, key)] = value
    if traits:
        properties["traits_required"] = traits
    return properties


def destination(part: Fields) -> Destination:
    """The requested destination. ``aggregates``: each element a list of uuids, or of
    those with commas between them."""
    cell_uuid = part.one("cell", "CellMapping", lambda cell: cell.text("uuid"))
    if cell_uuid is None and not part.is_object:
        cell_uuid = part.text("cell_uuid")
    found = Destination(
        host=part.text("host"),
        node=part.text("node"),
        cell_uuid=None if cell_uuid is None else canonical(cell_uuid),
        aggregates=_aggregates(part),
        forbidden_aggregates=frozenset(
            map(canonical, part.names("forbidden_aggregates"))
        ),
        allow_cross_cell_move=part.flag("allow_cross_cell_move"),
    )
    part.done()
    return found


def any_of_sets(part: Fields, name: str) -> tuple[frozenset[str], ...]:
    """A list of sets of names: all of them hold, each by any of its names."""
    return part.get(name, _any_of_sets) or ()


def _aggregates(part: Fields) -> tuple[frozenset[str], ...]:
    found = any_of_sets(part, "aggregates")
    return tuple(frozenset(map(canonical, each)) for each in found)


def _any_of_sets(path: str, value: Any) -> tuple[frozenset[str], ...]:
    return tuple(_set_of_names(path, each) for each in scalars.items(path, value))


def _set_of_names(path: str, value: Any) -> frozenset[str]:
    if isinstance(value, str):
        value = [each.strip() for each in value.split(",")]
    found = frozenset(scalars.name(path, each) for each in scalars.items(path, value))
    if not found:
        raise Invalid(f"{path} has an empty set, which nothing can satisfy: omit it.")
    return found


def resource_group(part: Fields) -> ResourceGroup:
    """Resources that a port, an accelerator or a device asks for."""
    found = ResourceGroup(
        requester_id=part.text("requester_id"),
        resources=part.amounts("resources"),
        required_traits=frozenset(part.names("required_traits")),
        forbidden_traits=frozenset(part.names("forbidden_traits")),
        aggregates=_aggregates(part),
        forbidden_aggregates=frozenset(
            map(canonical, part.names("forbidden_aggregates"))
        ),
        in_tree=part.uuid("in_tree"),
        use_same_provider=part.flag("use_same_provider", default=True),
    )
    part.done("provider_uuids")
    return found


def request_level(part: Fields) -> RequestLevel:
    """What applies to the request as a whole."""
    found = RequestLevel(
        root_required=frozenset(part.names("root_required")),
        root_forbidden=frozenset(part.names("root_forbidden")),
        same_subtree=any_of_sets(part, "same_subtree"),
    )
    part.done()
    return found


def labels(part: Fields) -> LabelTerms:
    """Labels of hosts. Nova's object has none."""
    found = LabelTerms(
        required=part.words("required"),
        forbidden=part.words("forbidden"),
        preferred=part.words("preferred"),
    )
    part.done()
    return found


def network(part: Fields) -> RequestedNetwork:
    """A network or port to attach. Nova's object knows no segments."""
    is_own = not part.is_object
    segments = is_own and part.has("segments")
    found = RequestedNetwork(
        network_id=part.text("network_id"),
        port_id=part.text("port_id"),
        address=part.text("address"),
        segments=frozenset(part.names("segments")) if segments else None,
        trouble=(part.text("trouble") or "") if is_own else "",
    )
    part.done()
    return found


def network_metadata(part: Fields) -> NetworkMetadata:
    """Networks that the instance's cells must be near to."""
    found = NetworkMetadata(frozenset(part.names("physnets")), part.flag("tunneled"))
    part.done()
    return found


def instance_group(part: Fields) -> InstanceGroup:
    """A server group as a caller knows it."""
    found = InstanceGroup(
        uuid=part.uuid("uuid") or "",
        policy=policy(part),
        max_server_per_host=max_per_host(part),
        members=part.uuids("members"),
        hosts=frozenset(part.names("hosts")),
    )
    part.done("id", "name", "project_id", "user_id")
    return found


def policy(part: Fields) -> str | None:
    """The policy of a group, also from before 1.11, when it had a list of them."""
    old = part.names("policies")
    found = part.get("policy", group_policy)
    if part.has("policy") or not old:
        return found
    return group_policy(part.at("policies"), old[0])


def group_policy(path: str, value: Any) -> str | None:
    """One of the four policies; "legacy" is none, as it was."""
    if value == "legacy":
        return None
    if value not in POLICIES:
        raise scalars.refusal(path, "one of " + ", ".join(POLICIES), value)
    return str(value)


def max_per_host(part: Fields) -> int:
    """How many members of an anti-affinity group may share a host."""
    rules = part.get("_rules", scalars.mapping)
    if rules is None and not part.is_object:
        rules = part.get("rules", scalars.mapping)
        if part.has(MAX_PER_HOST):
            return part.need(MAX_PER_HOST, _limit)
    if not rules or rules.get(MAX_PER_HOST) is None:
        return 1
    return _limit(f"{part.at('_rules')}.{MAX_PER_HOST}", rules[MAX_PER_HOST])


def _limit(path: str, value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    return scalars.whole(path, value, 1)


def count(path: str, value: Any) -> int:
    """How many instances: at least one."""
    return scalars.whole(path, value, 1)


def hints(path: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Scheduler hints: values that are not lists become lists of one."""
    found = {}
    for key, each in scalars.mapping(path, value).items():
        is_many = isinstance(each, list | tuple | set | frozenset)
        values = scalars.items(path, each) if is_many else (each,)
        at = f"{path}.{key}"
        words = tuple(scalars.word(at, one) for one in values)
        found[key] = tuple(map(canonical, words)) if key in UUID_HINTS else words
    return found


def tried_hosts(path: str, value: Any) -> tuple[tuple[str, str], ...]:
    """(host, node) pairs, as lists of two."""
    return tuple(
        _pair(f"{path}.{number}", each)
        for number, each in enumerate(scalars.items(path, value))
    )


def _pair(path: str, value: Any) -> tuple[str, str]:
    found = scalars.items(path, value)
    if len(found) != 2:
        raise scalars.refusal(path, "a pair of host and node", value)
    return scalars.text(path, found[0]), scalars.text(path, found[1])


def retry_hosts(part: Fields) -> tuple[tuple[str, str], ...]:
    """The hosts of a SchedulerRetries object, or of its old dict."""
    hosts = lowered(part.fields.get("hosts"))
    if isinstance(hosts, list | tuple) and hosts and isinstance(hosts[0], list | tuple):
        return part.get("hosts", tried_hosts) or ()
    return tuple(
        (node.need("host", scalars.text), node.text("hypervisor_hostname") or "")
        for node in part.parts("hosts", "ComputeNode")
    )


def numa_topology(path: str, value: Any) -> dict[str, Any]:
    """The topology as it came: the object's primitive, a plain object, or the JSON text
    of one. Raises Invalid where a cell cannot be read, whatever is enabled to fit
    it."""
    value = scalars.decoded(path, lowered(value))
    readable_topology(value, path)
    kept: dict[str, Any] = scalars.plain(path, value)
    return kept


def pci_requests(part: Fields, name: str) -> tuple[dict[str, Any], ...]:
    """The fields of each InstancePCIRequest: of the object that holds them, or of a
    plain list of them."""
    value = lowered(part.fields.get(name))
    if isinstance(value, list | tuple):
        requests = part.parts(name, "InstancePCIRequest")
    else:
        requests = part.one(name, "InstancePCIRequests", _held_requests) or ()
    for each in requests:
        each.get("count", scalars.amount)
        for number, one in enumerate(each.get("spec", scalars.items) or ()):
            scalars.mapping(f"{each.at('spec')}.{number}", one)
    return tuple(scalars.plain(each.path, each.fields) for each in requests)


def _held_requests(holder: Fields) -> tuple[Fields, ...]:
    holder.text("instance_uuid")
    return holder.parts("requests", "InstancePCIRequest")
