"""The NUMA cells of an instance, from flavor and image.

Separate from the policies of CPUs (``cpus``) and the sizes of pages (``memory_pages``),
which all cells share: this says how many there are, and which vCPUs and memory each
has. The rules are those of Nova's API, which callers without it need, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gantt.errors import NeverFits
from gantt.model.cpu_sets import mask_of
from gantt.model.forms.instance_topology import MOST_CELLS
from gantt.model.spec import RequestSpec
from gantt.model.topology import Cpus, InstanceCell
from gantt.scheduler.request import cpus, memory_pages, settings
from gantt.scheduler.request.cpus import Pinning

NODES: Final = "hw:numa_nodes"
_CPUS: Final = "hw:numa_cpus"
_MEMORY: Final = "hw:numa_mem"
_PERSISTENT: Final = "hw:pmem"


def cells_of(spec: RequestSpec, pinning: Pinning) -> tuple[InstanceCell, ...]:
    """The cells; none: nothing asks for any. Raises NeverFits."""
    nodes = _node_count(spec)
    size = memory_pages.page_kib(spec)
    memory_pages.check_locked(spec, size)
    is_needed = (
        nodes is not None
        or size is not None
        or bool(spec.flavor.extra_specs.get(_PERSISTENT))
        or pinning.is_pinning
    )
    if not is_needed:
        return ()
    parts = _parts(spec, nodes or 1)
    for number, (_, memory) in enumerate(parts):
        _check_pages(number, memory, size)
    return tuple(
        InstanceCell(
            number,
            mask & ~pinning.pinned,
            mask & pinning.pinned,
            memory,
            size,
            pinning.policy,
            pinning.threads,
        )
        for number, (mask, memory) in enumerate(parts)
    )


def _node_count(spec: RequestSpec) -> int | None:
    key, value = _one_side(spec, NODES)
    if value is None:
        return None
    text = str(value)
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST_CELLS):
        raise NeverFits(
            f"{key}={value!r} is not a number of NUMA nodes: give 1 to {MOST_CELLS}"
        )
    return int(text[:9])


def _one_side(spec: RequestSpec, key: str) -> tuple[str, Any]:
    """(key, value) of flavor or image, never of both. Raises NeverFits."""
    flavor = spec.flavor.extra_specs.get(key) or None
    image = settings.of_image(spec, key)
    named = settings.property_name(key)
    if flavor is not None and image is not None:
        raise NeverFits(_overrides(f"{key}={flavor!r}", f"{named}={image!r}"))
    return (key, flavor) if image is None else (named, image)


def _overrides(flavor: str, image: str) -> str:
    return (
        f"the flavor says {flavor}, the image {image}: an image must not say what its "
        "flavor says; let only one of them say it"
    )


# ------------------------------------------------------------ which vCPUs and memory


def _parts(spec: RequestSpec, nodes: int) -> list[tuple[Cpus, int]]:
    """(vCPUs, MB) of each cell."""
    sets = _listed(spec, _CPUS, nodes)
    memories = _listed(spec, _MEMORY, nodes)
    if not sets and not memories:
        return _even_parts(spec, nodes)
    missing = [
        f"{key}.{number}"
        for key, given in ((_CPUS, sets), (_MEMORY, memories))
        for number in range(nodes)
        if number not in given
    ]
    if missing:
        raise NeverFits(
            f"the request has {nodes} NUMA nodes and says nothing of "
            f"{', '.join(missing[:6])}: give {_CPUS}.N and {_MEMORY}.N for every "
            "node, or for none"
        )
    masks = [_mask(spec, *sets[number]) for number in range(nodes)]
    _check_sets(spec, masks)
    sizes = [_megabytes(*memories[number]) for number in range(nodes)]
    if sum(sizes) != spec.flavor.memory_mb:
        raise NeverFits(
            f"{_MEMORY}.N are {'+'.join(map(str, sizes))} MB, together {sum(sizes)}; "
            f"the flavor has {spec.flavor.memory_mb}: let them add up to it"
        )
    return list(zip(masks, sizes, strict=True))


def _even_parts(spec: RequestSpec, nodes: int) -> list[tuple[Cpus, int]]:
    vcpus, memory = spec.flavor.vcpus, spec.flavor.memory_mb
    cpus.check_count(vcpus)
    if not (vcpus and memory):
        raise NeverFits(
            f"the flavor has vcpus={vcpus} and memory_mb={memory}: an instance with "
            "pinned CPUs, pages or NUMA nodes needs 1 or more of each"
        )
    if vcpus % nodes or memory % nodes:
        raise NeverFits(
            f"{NODES}={nodes}: {vcpus} vCPUs and {memory} MB cannot be divided evenly "
            f"among {nodes} nodes; give {_CPUS}.N and {_MEMORY}.N, or another number"
        )
    each = vcpus // nodes
    return [
        (((1 << each) - 1) << number * each, memory // nodes) for number in range(nodes)
    ]


def _listed(spec: RequestSpec, key: str, nodes: int) -> dict[int, tuple[str, Any]]:
    """node -> (full key, value), of flavor or image. Raises NeverFits."""
    flavor = dict(_numbered(spec.flavor.extra_specs.items(), key))
    image: dict[int, tuple[str, Any]] = {}
    if spec.image is not None:
        named = settings.property_name(key)
        image = dict(_numbered(spec.image.properties.items(), named))
        whole = spec.image.properties.get(named)
        if isinstance(whole, list | tuple):
            image |= {n: (f"{named}.{n}", one) for n, one in enumerate(whole)}
    if flavor and image:
        raise NeverFits(_overrides(f"{key}.N", f"{settings.property_name(key)}.N"))
    given = flavor or image
    for number, (full, value) in given.items():
        if number >= nodes:
            raise NeverFits(
                f"{full}={value!r} is about node {number}; the request has {nodes} "
                f"(counted from 0): correct it, or set {NODES}"
            )
    return given


def _numbered(
    pairs: Iterable[tuple[str, Any]], key: str
) -> Iterable[tuple[int, tuple[str, Any]]]:
    for full, value in pairs:
        prefix, dot, number = full.rpartition(".")
        if dot and prefix == key:
            if not (number.isascii() and number.isdigit() and len(number) < 6):
                raise NeverFits(
                    f"{full}={value!r}: {number!r} is not the number of a node"
                )
            yield int(number), (full, value)


def _mask(spec: RequestSpec, key: str, value: Any) -> Cpus:
    """A set of vCPUs: as text, or as a list of numbers."""
    if isinstance(value, list | tuple | set | frozenset):
        value = ",".join(map(str, value))
    vcpus = spec.flavor.vcpus
    return mask_of(cpus.parse_mask(key, str(value), vcpus, is_of_all=False))


def _check_sets(spec: RequestSpec, masks: list[Cpus]) -> None:
    seen = 0
    for number, mask in enumerate(masks):
        if twice := seen & mask:
            raise NeverFits(
                f"{_CPUS}.{number} has vCPU {_lowest(twice)}, which another node has: "
                "give each vCPU to one node"
            )
        seen |= mask
    if left := (1 << spec.flavor.vcpus) - 1 & ~seen:
        raise NeverFits(
            f"vCPU {_lowest(left)} of {spec.flavor.vcpus} is in no {_CPUS}.N: give "
            "each to one node"
        )


def _lowest(mask: Cpus) -> int:
    return (mask & -mask).bit_length() - 1


def _megabytes(key: str, value: Any) -> int:
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text)):
        raise NeverFits(
            f"{key}={value!r} is not an amount of memory: give MB, 1 or more"
        )
    return int(text)


def _check_pages(number: int, memory: int, size: int | None) -> None:
    if size is not None and size > 0 and memory * 1024 % size:
        raise NeverFits(
            f"{memory_pages.PAGES} is {size} KiB, and NUMA node {number} has "
            f"{memory} MB, which is no multiple of it: change one of them"
        )
