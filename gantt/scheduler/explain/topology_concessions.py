"""What a request for a topology or for devices can do with less of, one at a time; and
its amounts, which are those of its cells together.

Separate from the other concessions because these need the topology as it is derived: a
spec with less bears it as ``numa_topology``, and its flavor and image no longer say
what contradicts that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import Any, Final

from msgspec.structs import replace

from gantt.errors import GanttError
from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.diagnosis import Kind, Relaxation
from gantt.model.forms.instance_topology import GivenTopology, plain_topology
from gantt.model.spec import RequestSpec
from gantt.model.topology import ANY_PAGES, LARGE_PAGES, DeviceRequest, InstanceCell
from gantt.scheduler.request import requested_devices
from gantt.scheduler.request.requested_topology import topology_of

OF_TOPOLOGY: Final[frozenset[Kind]] = frozenset(
    (
        "page_size",
        "thread_policy",
        "pci_affinity",
        "numa_nodes",
        "cpu_policy",
        "devices",
    )
)
_AFFINITY: Final = "hw:pci_numa_affinity_policy"
_THREADS: Final = "hw:cpu_thread_policy"
_TRAIT: Final = ":HW_CPU_HYPERTHREADING"
_PINNED: Final = ":PCPU"
_OF_PINNING: Final = frozenset(
    "hw:cpu_policy hw:cpu_thread_policy hw:emulator_threads_policy "
    "hw:cpu_dedicated_mask hw:cpu_realtime hw:cpu_realtime_mask".split()
)


def topology_concessions(spec: RequestSpec) -> Iterator[Relaxation]:
    """Less of a topology, and fewer devices, that would be as useful."""
    try:
        given = topology_of(spec)
        asked = requested_devices.requests(spec)
        counts = [*_device_counts(spec, asked)]
    except GanttError:
        return
    if given is not None:
        yield from _of_cells(given)
        if _is_demanding(spec, asked):
            yield Relaxation("pci_affinity", None)
    for name, count in counts:
        for fewer in dict.fromkeys((count - 1, 1)):
            if fewer and fewer < count:
                yield Relaxation("devices", None, (name,), count, fewer)


def with_less(spec: RequestSpec, one: Relaxation) -> RequestSpec:
    """``spec`` with that conceded."""
    if one.kind == "devices":
        return _with_fewer(spec, one.names[0], one.lowered or 0)
    if one.kind == "pci_affinity":
        return _preferring(spec)
    given = topology_of(spec)
    assert given is not None, "it was offered"
    less = _LESS[one.kind](given)
    if one.kind == "cpu_policy":
        spec = _without_said(spec, _OF_PINNING, (_TRAIT, _PINNED))
    elif one.kind == "thread_policy":
        spec = _without_said(spec, {_THREADS}, (_TRAIT,))
    return replace(spec, numa_topology=plain_topology(less))


def without_devices(spec: RequestSpec) -> RequestSpec:
    """``spec`` without any PCI device, and without the groups of those it bears."""
    mine = {
        suffix for one in requested_devices.requests(spec) for suffix in one.suffixes
    }
    groups = [one for one in spec.requested_resources if one.requester_id not in mine]
    spec = _without_said(spec, {requested_devices.ALIAS}, ())
    return replace(spec, pci_requests=(), requested_resources=tuple(groups))


# ---------------------------------------------------------------------------- amounts


def steps_of(spec: RequestSpec) -> dict[str, int]:
    """In which steps amounts can be lowered: by as much for each cell, and by whole
    pages. Empty: it asks for no cells, or they are not alike."""
    try:
        given = topology_of(spec)
    except GanttError:
        return {}
    if given is None or len({_size(cell) for cell in given.cells}) != 1:
        return {}
    first, count = given.cells[0], len(given.cells)
    page_kib = first.page_kib or 0
    page_mb = max(1, page_kib // 1024)
    if page_kib == LARGE_PAGES:
        page_mb = gcd(first.memory, 1024)  # how large they are, hosts decide
    return {"VCPU": count, "PCPU": count, "MEMORY_MB": count * page_mb}


def with_smaller_cells(spec: RequestSpec, name: str, amount: int) -> RequestSpec:
    """``spec`` whose cells have ``amount`` of a class together; as it is where that
    cannot be divided among them."""
    step = steps_of(spec).get(name)
    given = topology_of(spec) if step and amount % step == 0 else None
    if given is None:
        return spec
    each = amount // len(given.cells)
    cells = tuple(_smaller(cell, name, each) for cell in given.cells)
    return replace(spec, numa_topology=plain_topology(replace(given, cells=cells)))


def _size(cell: InstanceCell) -> tuple[int, int, int]:
    return cell.cpus.bit_count(), cell.pcpus.bit_count(), cell.memory


def _smaller(cell: InstanceCell, name: str, amount: int) -> InstanceCell:
    if name == "MEMORY_MB":
        return replace(cell, memory=amount)
    field = "pcpus" if name == "PCPU" else "cpus"
    lowest = mask_of([*numbers_of(getattr(cell, field))][:amount])
    return replace(cell, **{field: lowest})


# ------------------------------------------------------------------------------ cells


def _of_cells(given: GivenTopology) -> Iterator[Relaxation]:
    cells = given.cells
    if len(cells) > 1:
        yield Relaxation("numa_nodes", None, ("NUMA nodes",), len(cells), 1)
    if any(cell.page_kib not in (None, ANY_PAGES) for cell in cells):
        yield Relaxation("page_size", None)
    if any(cell.threads in ("isolate", "require") for cell in cells):
        yield Relaxation("thread_policy", None)
    if any(cell.pcpus for cell in cells):
        yield Relaxation("cpu_policy", None)


def _one_cell(given: GivenTopology) -> GivenTopology:
    first, *others = given.cells
    cpus, pcpus, memory = first.cpus, first.pcpus, first.memory
    for cell in others:
        cpus |= cell.cpus
        pcpus |= cell.pcpus
        memory += cell.memory
    whole = replace(first, cpus=cpus, pcpus=pcpus, memory=memory)
    return replace(given, cells=(whole,))


def _each(change: Callable[[InstanceCell], InstanceCell]) -> Any:
    return lambda given: replace(given, cells=tuple(map(change, given.cells)))


def _shared(given: GivenTopology) -> GivenTopology:
    cells = tuple(
        replace(cell, cpus=cell.cpus | cell.pcpus, pcpus=0, policy="shared")
        for cell in given.cells
    )
    return GivenTopology(tuple(replace(cell, threads=None) for cell in cells))


_LESS: Final[Mapping[Kind, Callable[[GivenTopology], GivenTopology]]] = {
    "numa_nodes": _one_cell,
    "page_size": _each(lambda cell: replace(cell, page_kib=ANY_PAGES)),
    "thread_policy": _each(lambda cell: replace(cell, threads="prefer")),
    "cpu_policy": _shared,
}


def _without_said(
    spec: RequestSpec, keys: frozenset[str] | set[str], endings: tuple[str, ...]
) -> RequestSpec:
    """Without these settings of flavor and image, and extra specs that end so."""
    flavor, image = spec.flavor, spec.image
    left = {
        key: value
        for key, value in flavor.extra_specs.items()
        if key not in keys and not (endings and key.endswith(endings))
    }
    spec = replace(spec, flavor=replace(flavor, extra_specs=left))
    if image is None:
        return spec
    named = {key.replace(":", "_", 1) for key in keys}
    properties = {k: v for k, v in image.properties.items() if k not in named}
    traits = properties.get("traits_required")
    if _TRAIT in endings and isinstance(traits, list | tuple):
        properties["traits_required"] = [one for one in traits if one != _TRAIT[1:]]
    return replace(spec, image=replace(image, properties=properties))


# ---------------------------------------------------------------------------- devices


def _is_demanding(spec: RequestSpec, asked: tuple[DeviceRequest, ...]) -> bool:
    """Whether devices must be nearer than they could be."""
    by_alias = requested_devices.asked_aliases(spec)
    is_preferred = spec.flavor.extra_specs.get(_AFFINITY) == "preferred"
    return (bool(by_alias) and not is_preferred) or any(
        one.affinity != "preferred" for one in asked
    )


def _preferring(spec: RequestSpec) -> RequestSpec:
    spec = _without_said(spec, {_AFFINITY}, ())
    specs = {**spec.flavor.extra_specs, _AFFINITY: "preferred"}
    return replace(
        spec,
        flavor=replace(spec.flavor, extra_specs=specs),
        pci_requests=tuple(
            {**one, "numa_policy": "preferred"} for one in spec.pci_requests
        ),
    )


def _device_counts(
    spec: RequestSpec, asked: tuple[DeviceRequest, ...]
) -> Iterator[tuple[str, int]]:
    """(name, count) of each request: an alias, or else the request's id."""
    for entry, one in zip(spec.pci_requests, asked, strict=True):
        yield str(entry.get("alias_name") or one.request_id), one.count
    yield from requested_devices.asked_aliases(spec)


def _with_fewer(spec: RequestSpec, name: str, count: int) -> RequestSpec:
    """``count`` of each request of that name; groups of the others go."""
    kept, gone = [], set[str]()
    for entry, one in zip(
        spec.pci_requests, requested_devices.requests(spec), strict=True
    ):
        is_it = str(entry.get("alias_name") or one.request_id) == name
        if is_it and one.count > count:
            gone |= {*one.suffixes[count:]}
            entry = {**entry, "count": count}
        kept.append(entry)
    groups = [one for one in spec.requested_resources if one.requester_id not in gone]
    specs = dict(spec.flavor.extra_specs)
    if by_alias := requested_devices.asked_aliases(spec):
        specs[requested_devices.ALIAS] = ",".join(
            f"{alias}:{min(many, count) if alias == name else many}"
            for alias, many in by_alias
        )
    return replace(
        spec,
        flavor=replace(spec.flavor, extra_specs=specs),
        pci_requests=tuple(kept),
        requested_resources=tuple(groups),
    )
