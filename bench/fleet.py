"""Fleets to measure on, written through the library into a file of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

import gantt
from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
from gantt.model.protocol import GanttProtocol

# Concurrent callers, and so the size of batches.
WRITERS = 64
CONSUMERS_PER_WRITE = 200
PROVIDERS_PER_WRITE = 500

T = TypeVar("T")

ROOMY = {
    "VCPU": Inventory(total=100_000_000),
    "MEMORY_MB": Inventory(total=2_000_000_000),
    "DISK_GB": Inventory(total=2_000_000_000),
}

REQUIRED_TRAIT = "HW_CPU_X86_AVX2"
FORBIDDEN_TRAIT = "COMPUTE_STATUS_DISABLED"


class Member(Struct, frozen=True):
    """One provider to create."""

    uuid: str
    name: str
    inventories: dict[str, Inventory]
    parent_uuid: str | None = None
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


def uuids(count: int, kind: int) -> list[str]:
    """The same uuids at every run; ``kind`` keeps providers and consumers apart."""
    return [_uuid(kind, number) for number in range(1, count + 1)]


def _uuid(kind: int, number: int) -> str:
    return str(UUID(int=kind << 96 | number))


PROVIDER, CONSUMER, AGGREGATE = 1, 2, 3
AGGREGATES = tuple(uuids(10, AGGREGATE))


def flat(count: int, after: int = 0) -> list[Member]:
    """Roomy providers without parents and labels, as many as are missing to
    ``count``."""
    return [
        Member(_uuid(PROVIDER, number), f"host-{number}", ROOMY)
        for number in range(after + 1, count + 1)
    ]


def labeled(count: int) -> list[Member]:
    """As ``flat``: three in four have the required trait, one in twenty the forbidden
    one, and each is in one of ten aggregates, whatever its traits."""
    return [
        Member(
            _uuid(PROVIDER, number),
            f"host-{number}",
            ROOMY,
            traits=(
                *([REQUIRED_TRAIT] if number % 4 else []),
                *([FORBIDDEN_TRAIT] if number % 20 == 1 else []),
            ),
            aggregates=(AGGREGATES[number // 20 % len(AGGREGATES)],),
        )
        for number in range(1, count + 1)
    ]


def numa_trees(count: int) -> list[Member]:
    """Hosts of seven providers: a root with disk, two NUMA nodes with processors and
    memory, two network ports under each."""
    disk = {"DISK_GB": Inventory(total=10_000)}
    node = {"VCPU": Inventory(total=64), "MEMORY_MB": Inventory(total=262_144)}
    port = {"SRIOV_NET_VF": Inventory(total=16)}
    members = []
    for number in range(1, count + 1):
        root = _uuid(PROVIDER, number * 8)
        members.append(Member(root, f"host-{number}", disk))
        for side in (1, 2):
            uuid = _uuid(PROVIDER, number * 8 + 3 * side - 2)
            members.append(Member(uuid, f"numa-{number}-{side}", node, root))
            members += [
                Member(
                    _uuid(PROVIDER, number * 8 + 3 * side - 2 + end),
                    f"port-{number}-{side}-{end}",
                    port,
                    uuid,
                )
                for end in (1, 2)
            ]
    return members


def equal_children(hosts: int, children: int) -> list[Member]:
    """Hosts without resources, each with so many equal children."""
    card = {"VGPU": Inventory(total=16)}
    members = []
    for number in range(1, hosts + 1):
        root = _uuid(PROVIDER, number << 8)
        members.append(Member(root, f"host-{number}", {}))
        members += [
            Member(
                _uuid(PROVIDER, (number << 8) + child),
                f"card-{number}-{child}",
                card,
                root,
            )
            for child in range(1, children + 1)
        ]
    return members


def write(
    database: Path | str, members: Sequence[Member], *, allocations: int = 0
) -> None:
    """Add ``members`` to ``database``, a URL or a file, created if missing, and let so
    many consumers claim a processor each."""
    is_file = isinstance(database, Path)
    url = f"sqlite:///{database}" if is_file else str(database)
    books = gantt.connect(url, create=is_file)
    try:
        with ThreadPoolExecutor(WRITERS) as writers:

            def each(act: Callable[[T], object], of: Iterable[T]) -> None:
                for _ in writers.map(act, of):
                    pass

            for layer in _layers(members):
                each(lambda one: _create(books, one), layer)
            for block in _blocks(members, PROVIDERS_PER_WRITE):
                books.reshape(_inventories(block), ())
            each(lambda one: _label(books, one), members)
            claims = _claims([one.uuid for one in members], allocations)
            each(books.set_allocations, _blocks(claims, CONSUMERS_PER_WRITE))
    finally:
        books.close()


def _layers(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Parents before their children."""
    known: set[str | None] = {None}
    rest = list(members)
    while rest:
        layer = [one for one in rest if one.parent_uuid in known]
        rest = [one for one in rest if one.parent_uuid not in known]
        known.update(one.uuid for one in layer)
        yield layer


def _blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def _create(books: GanttProtocol, one: Member) -> None:
    books.create_provider(one.name, uuid=one.uuid, parent_uuid=one.parent_uuid)


def _inventories(members: Iterable[Member]) -> list[ReshapedProvider]:
    return [
        ReshapedProvider(one.uuid, generation=0, inventories=one.inventories)
        for one in members
        if one.inventories
    ]


def _label(books: GanttProtocol, one: Member) -> None:
    if one.traits:
        books.set_traits(one.uuid, one.traits)
    if one.aggregates:
        books.set_aggregates(one.uuid, one.aggregates)


def _claims(providers: Sequence[str], count: int) -> Iterator[ConsumerAllocations]:
    for number, consumer in enumerate(uuids(count, CONSUMER)):
        provider = providers[number % len(providers)]
        yield ConsumerAllocations(
            consumer, {provider: {"VCPU": 1}}, "bench", "bench", None, "INSTANCE"
        )
