"""The constraints of a request for instances that can be given up, one at a time.

In the terms of the request: each ``Relaxation`` is a constraint that the caller gave,
and ``conceded`` is the request without it. Additions of the pre-filters are not
included. Separate from the search for the smallest, which does not depend on Nova's
terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from gantt.errors import GanttError
from gantt.model.diagnosis import Kind, Relaxation
from gantt.model.spec import (
    Destination,
    Flavor,
    Image,
    LabelTerms,
    RequestSpec,
    ResourceGroup,
    ScheduleRequest,
)
from gantt.scheduler.explain.topology_concessions import (
    OF_TOPOLOGY,
    topology_concessions,
    with_less,
    with_smaller_cells,
    without_devices,
)
from gantt.scheduler.request import cpus
from gantt.scheduler.request.request_draft import group_key

# The order of leaving out, after hints and groups: relations between providers,
# forbidden and required traits, places; then properties of hosts, named hosts, and
# last amounts.
ORDER: Final[tuple[Kind, ...]] = (
    "hint",
    "server_group",
    "isolate",
    "same_subtree",
    "forbidden",
    "root_forbidden",
    "required",
    "root_required",
    "not_label",
    "label",
    "not_member_of",
    "member_of",
    "extra_spec",
    "image_property",
    "networks",
    "page_size",
    "thread_policy",
    "pci_affinity",
    "numa_nodes",
    "cpu_policy",
    "devices",
    "pci_requests",
    "numa_topology",
    "zone",
    "ignore_hosts",
    "retry_hosts",
    "requested_host",
    "cell",
    "force_hosts",
    "force_nodes",
    "in_tree",
    "amount",
)
_CHECK: Final = "_nova_check_type"
_GROUP: Final = "group"
_TRAITS: Final = "traits_required"


def amounts(spec: RequestSpec) -> list[Relaxation]:
    """Every requested class, by its group."""
    found: dict[tuple[str, str], int] = {}
    for prefix, suffix, name, value in _said(spec):
        if prefix == "resources" and value.strip().isdigit():
            found[suffix, name] = int(value)
    for group in spec.requested_resources:
        for name, amount in group.resources.items():
            found.setdefault((_suffix(group), name), amount)
    named = {name for _, name in found}
    flavor = spec.flavor
    if cpu := _cpu_class(spec, named):
        found["", cpu] = flavor.vcpus
    if "MEMORY_MB" not in named:
        found["", "MEMORY_MB"] = flavor.memory_mb
    if "DISK_GB" not in named:
        found["", "DISK_GB"] = _disk_gb(spec)
    return [
        Relaxation("amount", suffix, (name,), amount)
        for (suffix, name), amount in found.items()
        if amount > 0
    ]


def concessions(request: ScheduleRequest) -> list[Relaxation]:
    """Every single constraint that can be left out, the smallest first."""
    spec = request.spec
    found = [*_of_request(spec), *_of_flavor(spec), *_of_image(spec)]
    found += [
        *topology_concessions(spec),
        *_of_groups(spec),
        *_of_place(spec),
        *amounts(spec),
    ]
    return sorted(dict.fromkeys(found), key=lambda one: ORDER.index(one.kind))


def conceded(request: ScheduleRequest, one: Relaxation) -> ScheduleRequest:
    if one.kind == "instances":
        return _fewer(request, one.lowered or 1)
    spec = request.spec
    if one.kind == "amount":
        spec = _with_amount(spec, one)
    elif one.kind in ("required", "forbidden"):
        spec = _without_trait(spec, one)
    elif one.kind in OF_TOPOLOGY:
        spec = with_less(spec, one)
    elif one.kind == "pci_requests":
        spec = without_devices(spec)
    elif one.kind == "numa_topology":
        spec = replace(spec, numa_topology=None, nulls=spec.nulls | {one.kind})
    elif one.kind in ("member_of", "not_member_of", "in_tree"):
        spec = _elsewhere(spec, one)
    else:
        spec = _without(spec, one)
    return replace(request, spec=spec)


# ----------------------------------------------------------------- what there is to say


def _said(spec: RequestSpec) -> Iterator[tuple[str, str, str, str]]:
    """(prefix, suffix, name, value) of each extra spec about request groups."""
    for key, value in spec.flavor.extra_specs.items():
        found = group_key(key)
        if found is not None:
            yield *found, str(value)


def _suffix(group: ResourceGroup) -> str:
    return (group.requester_id or "") if group.use_same_provider else ""


def _cpu_class(spec: RequestSpec, named: set[str]) -> str | None:
    """The class that the flavor's ``vcpus`` are of; None: of none, or of several."""
    if not named.isdisjoint(("VCPU", "PCPU")):
        return None
    try:
        policy = cpus.cpu_policy(spec)
    except GanttError:
        return None
    return {"dedicated": "PCPU", "mixed": None}.get(policy or "", "VCPU")


def _disk_gb(spec: RequestSpec) -> int:
    flavor = spec.flavor
    root_gb = 0 if spec.is_bfv else flavor.root_gb
    return root_gb + flavor.ephemeral_gb - (-flavor.swap // 1024)


def _of_request(spec: RequestSpec) -> Iterator[Relaxation]:
    for name in spec.scheduler_hints:
        if name not in (_CHECK, _GROUP):
            yield Relaxation("hint", None, (name,))
    if spec.instance_group is not None or _GROUP in spec.scheduler_hints:
        yield Relaxation("server_group", None)
    level = spec.request_level_params
    for subtree in level.same_subtree:
        yield Relaxation("same_subtree", None, tuple(sorted(subtree)))
    for name in sorted(level.root_forbidden):
        yield Relaxation("root_forbidden", None, (name,))
    for name in sorted(level.root_required):
        yield Relaxation("root_required", None, (name,))
    if spec.labels is not None:
        for key, value in spec.labels.forbidden.items():
            yield Relaxation("not_label", None, (label_text(key, value),))
        for key, value in spec.labels.required.items():
            yield Relaxation("label", None, (label_text(key, value),))
    if spec.requested_networks:
        yield Relaxation("networks", None)
    if spec.pci_requests:
        yield Relaxation("pci_requests", None)
    if spec.numa_topology is not None:
        yield Relaxation("numa_topology", None)


def _of_flavor(spec: RequestSpec) -> Iterator[Relaxation]:
    for key, value in spec.flavor.extra_specs.items():
        found = group_key(key)
        if key == "group_policy":
            if value == "isolate":
                yield Relaxation("isolate", None)
        elif found is None:
            yield Relaxation("extra_spec", None, (key,))
        elif found[0] == "trait" and value in ("required", "forbidden"):
            kind: Kind = "required" if value == "required" else "forbidden"
            yield Relaxation(kind, found[1], (found[2],))


def _of_image(spec: RequestSpec) -> Iterator[Relaxation]:
    for name, value in ({} if spec.image is None else spec.image.properties).items():
        if name != _TRAITS:
            yield Relaxation("image_property", None, (name,))
        elif isinstance(value, list | tuple | set | frozenset):
            for trait in sorted(map(str, value)):
                yield Relaxation("required", "", (trait,))


def _of_groups(spec: RequestSpec) -> Iterator[Relaxation]:
    for group in spec.requested_resources:
        suffix = _suffix(group)
        for name in sorted(group.forbidden_traits):
            yield Relaxation("forbidden", suffix, (name,))
        for name in sorted(group.required_traits):
            yield Relaxation("required", suffix, (name,))
        yield from _aggregates(group, suffix)
        if group.in_tree is not None:
            yield Relaxation("in_tree", suffix, (group.in_tree,))


def _aggregates(one: ResourceGroup | Destination, suffix: str) -> Iterator[Relaxation]:
    for name in sorted(one.forbidden_aggregates):
        yield Relaxation("not_member_of", suffix, (name,))
    for names in one.aggregates:
        yield Relaxation("member_of", suffix, tuple(sorted(names)))


def _of_place(spec: RequestSpec) -> Iterator[Relaxation]:
    if spec.availability_zone:
        yield Relaxation("zone", None, (spec.availability_zone,))
    for kind in ("ignore_hosts", "retry_hosts", "force_hosts", "force_nodes"):
        if getattr(spec, kind):
            yield Relaxation(kind, None)
    place = spec.requested_destination
    if place is None:
        return
    yield from _aggregates(place, "")
    if name := place.host or place.node:
        yield Relaxation("requested_host", None, (name,))
    if place.cell_uuid and not place.allow_cross_cell_move:
        yield Relaxation("cell", None, (place.cell_uuid,))


# ----------------------------------------------------------------------- and without it


def _fewer(request: ScheduleRequest, count: int) -> ScheduleRequest:
    spec, uuids = request.spec, request.instance_uuids
    if uuids is None or spec.num_instances == len(uuids):
        spec = replace(spec, num_instances=count)
    return replace(
        request, spec=spec, instance_uuids=None if uuids is None else uuids[:count]
    )


def _with_amount(spec: RequestSpec, one: Relaxation) -> RequestSpec:
    """Lower it where it was given: in an extra spec, a requested group, or the flavor;
    and in the cells that it is divided among."""
    (name,), suffix, amount = one.names, one.suffix or "", one.lowered or 0
    if not suffix and amount:
        spec = with_smaller_cells(spec, name, amount)
    key = f"resources{suffix}:{name}"
    flavor = spec.flavor
    if key in flavor.extra_specs:
        specs = {**flavor.extra_specs, key: str(amount)}
        return replace(spec, flavor=replace(flavor, extra_specs=specs))
    if any(_gives(group, suffix, name) for group in spec.requested_resources):
        return _with_groups(spec, suffix, lambda group: _giving(group, name, amount))
    if name == "MEMORY_MB":
        return replace(spec, flavor=replace(flavor, memory_mb=amount))
    if name == "DISK_GB":
        return replace(spec, flavor=_smaller_disk(spec, amount))
    return replace(spec, flavor=replace(flavor, vcpus=amount))


def _gives(group: ResourceGroup, suffix: str, name: str) -> bool:
    return _suffix(group) == suffix and name in group.resources


def _giving(group: ResourceGroup, name: str, amount: int) -> ResourceGroup:
    if name not in group.resources:
        return group
    left = {**group.resources, name: amount}
    if not amount:
        del left[name]
    return replace(group, resources=left)


def _smaller_disk(spec: RequestSpec, amount: int) -> Flavor:
    """Less of the root disk, then of the ephemeral one, then of swap."""
    flavor = spec.flavor
    excess = _disk_gb(spec) - amount
    less = 0 if spec.is_bfv else min(excess, flavor.root_gb)
    excess -= less
    ephemeral = max(0, flavor.ephemeral_gb - excess)
    excess -= flavor.ephemeral_gb - ephemeral
    swap = max(0, -(-flavor.swap // 1024) - excess) * 1024 if excess else flavor.swap
    return replace(
        flavor, root_gb=flavor.root_gb - less, ephemeral_gb=ephemeral, swap=swap
    )


def _without_trait(spec: RequestSpec, one: Relaxation) -> RequestSpec:
    """Remove it from that group, wherever it was given."""
    (name,), suffix = one.names, one.suffix or ""
    spec = _without_extra_spec(spec, f"trait{suffix}:{name}")
    image = spec.image
    if image is not None and not suffix and _TRAITS in image.properties:
        left = [trait for trait in image.properties[_TRAITS] if str(trait) != name]
        properties = {**image.properties, _TRAITS: left}
        spec = replace(spec, image=replace(image, properties=properties))
    feasible = f"{one.kind}_traits"
    return _with_groups(
        spec,
        suffix,
        lambda group: replace(group, **{feasible: getattr(group, feasible) - {name}}),
    )


def _elsewhere(spec: RequestSpec, one: Relaxation) -> RequestSpec:
    """Without one condition on aggregates, or on the tree, of that group."""
    place, suffix = spec.requested_destination, one.suffix or ""
    if place is not None and not suffix:
        spec = replace(spec, requested_destination=_placed(place, one))
    return _with_groups(spec, suffix, lambda group: _placed(group, one))


def _placed(one: Any, without: Relaxation) -> Any:
    names = frozenset(without.names)
    if without.kind == "in_tree":
        is_it = getattr(one, "in_tree", None) in names
        return replace(one, in_tree=None) if is_it else one
    if without.kind == "not_member_of":
        left = one.forbidden_aggregates - names
        return replace(one, forbidden_aggregates=left)
    return replace(one, aggregates=tuple(x for x in one.aggregates if x != names))


def _with_groups(spec: RequestSpec, suffix: str, change: Any) -> RequestSpec:
    groups = tuple(
        change(group) if _suffix(group) == suffix else group
        for group in spec.requested_resources
    )
    return replace(spec, requested_resources=groups)


def _without_extra_spec(spec: RequestSpec, key: str) -> RequestSpec:
    flavor = spec.flavor
    left = {name: value for name, value in flavor.extra_specs.items() if name != key}
    return replace(spec, flavor=replace(flavor, extra_specs=left))


def _without(spec: RequestSpec, one: Relaxation) -> RequestSpec:
    kind, names = one.kind, frozenset(one.names)
    if kind == "isolate":
        specs = {**spec.flavor.extra_specs, "group_policy": "none"}
        return replace(spec, flavor=replace(spec.flavor, extra_specs=specs))
    if kind == "extra_spec":
        return _without_extra_spec(spec, one.names[0])
    if kind == "image_property":
        assert spec.image is not None, "it has the property"
        return replace(spec, image=_bare(spec.image, names))
    if kind in ("hint", "server_group"):
        gone = names if kind == "hint" else frozenset((_GROUP,))
        hints = {k: v for k, v in spec.scheduler_hints.items() if k not in gone}
        spec = replace(spec, scheduler_hints=hints)
        return spec if kind == "hint" else replace(spec, instance_group=None)
    if kind in ("same_subtree", "root_required", "root_forbidden"):
        return _with_level(spec, kind, names)
    if kind in ("label", "not_label"):
        return _without_label(spec, kind, names)
    if kind in ("requested_host", "cell"):
        place = spec.requested_destination or Destination()
        less = {"host": None, "node": None} if kind != "cell" else {"cell_uuid": None}
        return replace(spec, requested_destination=replace(place, **less))
    feasible, nothing = _FIELDS[kind]
    return replace(spec, **{feasible: nothing})


_FIELDS: Final[dict[Kind, tuple[str, Any]]] = {
    "networks": ("requested_networks", ()),
    "zone": ("availability_zone", None),
    "ignore_hosts": ("ignore_hosts", ()),
    "retry_hosts": ("retry_hosts", ()),
    "force_hosts": ("force_hosts", ()),
    "force_nodes": ("force_nodes", ()),
}


def _bare(image: Image, names: frozenset[str]) -> Image:
    left = {k: v for k, v in image.properties.items() if k not in names}
    return replace(image, properties=left)


def _without_label(spec: RequestSpec, kind: Kind, names: frozenset[str]) -> RequestSpec:
    field = "required" if kind == "label" else "forbidden"
    given = getattr(spec.labels or LabelTerms(), field).items()
    left = {key: value for key, value in given if label_text(key, value) not in names}
    return replace(spec, labels=replace(spec.labels or LabelTerms(), **{field: left}))


def label_text(key: str, value: str) -> str:
    """A label as people write it."""
    return f"{key}={value}" if value else key


def _with_level(spec: RequestSpec, kind: Kind, names: frozenset[str]) -> RequestSpec:
    level = spec.request_level_params
    if kind == "same_subtree":
        left = tuple(one for one in level.same_subtree if one != names)
        return replace(spec, request_level_params=replace(level, same_subtree=left))
    kept = getattr(level, kind) - names
    return replace(spec, request_level_params=replace(level, **{kind: kept}))
