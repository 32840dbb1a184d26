"""Providers of other forms than those of ``gantt bench``, written through the library
into a file of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

import gantt
from gantt.bench.bench_fleets import AGGREGATE, CARD, HOST, INSTANCE, uuid_of
from gantt.bench.fleet_setup import CARD_CLASS, writing
from gantt.model.commands import ConsumerAllocations, Inventory, ReshapedProvider
from gantt.model.protocol import GanttProtocol

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
AGGREGATES = tuple(uuid_of(AGGREGATE, number) for number in range(10))


class Member(Struct, frozen=True):
    """One provider to create."""

    uuid: str
    name: str
    inventories: dict[str, Inventory]
    parent_uuid: str | None = None
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


def flat(count: int, after: int = 0) -> list[Member]:
    """Roomy providers without parents and labels, as many as are missing to
    ``count``."""
    return [
        Member(uuid_of(HOST, number), f"host-{number}", ROOMY)
        for number in range(after + 1, count + 1)
    ]


def labeled(count: int) -> list[Member]:
    """As ``flat``: three in four have the required trait, one in twenty the forbidden
    one, and each is in one of ten aggregates, whatever its traits."""
    return [
        replace(
            one,
            traits=(
                *([REQUIRED_TRAIT] if number % 4 else []),
                *([FORBIDDEN_TRAIT] if number % 20 == 1 else []),
            ),
            aggregates=(AGGREGATES[number // 20 % len(AGGREGATES)],),
        )
        for number, one in enumerate(flat(count), 1)
    ]


def numa_trees(count: int) -> list[Member]:
    """Hosts of seven providers: a root with disk, two NUMA nodes with processors and
    memory, two network ports under each."""
    disk = {"DISK_GB": Inventory(total=10_000)}
    node = {"VCPU": Inventory(total=64), "MEMORY_MB": Inventory(total=262_144)}
    port = {CARD_CLASS: Inventory(total=16)}
    members = []
    for number in range(1, count + 1):
        root = uuid_of(HOST, number)
        members.append(Member(root, f"host-{number}", disk))
        for side in (1, 2):
            uuid = uuid_of(HOST, number, side)
            members.append(Member(uuid, f"numa-{number}-{side}", node, root))
            for end in (1, 2):
                name, own = f"port-{number}-{side}-{end}", 2 * side + end
                members.append(Member(uuid_of(CARD, number, own), name, port, uuid))
    return members


def equal_children(hosts: int, children: int) -> list[Member]:
    """Hosts without resources, each with so many equal children."""
    card = {"VGPU": Inventory(total=16)}
    members = []
    for number in range(1, hosts + 1):
        root = uuid_of(HOST, number)
        members.append(Member(root, f"host-{number}", {}))
        members += [
            Member(uuid_of(CARD, number, child), f"card-{number}-{child}", card, root)
            for child in range(1, children + 1)
        ]
    return members


def write(
    database: Path | str, members: Sequence[Member], *, allocations: int = 0
) -> None:
    """Add ``members``, parents before their children, to ``database``, a URL or a file,
    created if missing, and let so many consumers claim a processor each."""
    is_file = isinstance(database, Path)
    url = f"sqlite:///{database}" if is_file else str(database)
    depths: dict[str | None, int] = {None: 0}
    for one in members:
        depths[one.uuid] = 1 + depths[one.parent_uuid]
    with closing(gantt.connect(url, create=is_file)) as books, writing() as each:
        for depth in range(1, 1 + max(depths.values())):
            layer = [one for one in members if depths[one.uuid] == depth]
            each(lambda one: _create(books, one), layer)
        for block in blocks(members, PROVIDERS_PER_WRITE):
            books.reshape(_inventories(block), ())
        each(lambda one: _label(books, one), members)
        claims = _claims([one.uuid for one in members], allocations)
        each(books.set_allocations, blocks(claims, CONSUMERS_PER_WRITE))


def blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
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
    for number in range(count):
        provider = providers[number % len(providers)]
        consumer = uuid_of(INSTANCE, number)
        yield ConsumerAllocations(
            consumer, {provider: {"VCPU": 1}}, "bench", "bench", None, "INSTANCE"
        )
