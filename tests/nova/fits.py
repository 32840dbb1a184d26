"""Random hosts with NUMA cells and devices, and instances for them: mostly such as
could be, and full enough that about half of the instances fit."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import (
    ANY_PAGES,
    LARGE_PAGES,
    SMALL_PAGES,
    Affinity,
    Cpus,
    DeviceRequest,
    HostCell,
    HostTopology,
    InstanceCell,
    Pages,
    Pool,
    Wanted,
)
from tests.nova.upstream import uuid_of

NETWORKS = ("left", "right", "storage")
KINDS = ("type-PCI", "type-PCI", "type-PF", "type-VF", "type-VF", "vdpa")
AFFINITIES: tuple[Affinity, ...] = ("legacy", "preferred", "required", "socket")


class Case(NamedTuple):
    host: HostTopology
    wanted: Wanted
    providers: Mapping[str, tuple[str, ...]]
    packs: bool


def case(dice: Random) -> Case:
    in_books = dice.random() < 0.3
    host = HostTopology(_host_cells(dice), _pools(dice, in_books))
    wanted = _wanted(dice, host)
    providers = _providers(dice, host, wanted) if in_books else {}
    return Case(host, wanted, providers, dice.random() < 0.3)


def _part(dice: Random, cpus: Cpus, likelihood: float) -> Cpus:
    return mask_of(cpu for cpu in numbers_of(cpus) if dice.random() < likelihood)


# -- hosts ----------------------------------------------------------------------------


def _host_cells(dice: Random) -> tuple[HostCell, ...]:
    count = dice.choice((1, 1, 2, 2, 3, 4, 4, 4, 6, 8)) if dice.random() < 0.98 else 0
    threads = dice.choice((1, 1, 2, 2, 2, 4))
    cores = dice.choice((1, 2, 4, 4, 6, 6))
    style = dice.choice(("legacy", "legacy", "apart", "pinned", "shared"))
    sizes = dice.choice(((), (4,), (4, 2048), (4, 2048, 1 << 20), (2048,)))
    spread = dice.random() < 0.5
    knows_sockets = dice.random() < 0.7
    cells = []
    for number in range(count):
        siblings = tuple(
            mask_of(_thread(number, core, thread, count, cores, threads, spread))
            for core in range(cores)
            for thread in (range(threads),)
        )
        cell = _host_cell(dice, number, siblings, style, sizes)
        socket = number * 2 // count if knows_sockets else None
        if dice.random() < 0.03:
            socket = None
        cells.append(replace(cell, socket=socket))
    if dice.random() < 0.1:
        dice.shuffle(cells)
    return tuple(cells)


def _thread(
    cell: int,
    core: int,
    threads: range,
    cells: int,
    cores: int,
    per_core: int,
    spread: bool,
) -> list[int]:
    """The CPUs of a core: neighbours, or as far apart as the host has cores."""
    number = cell * cores + core
    if spread:
        return [number + thread * cells * cores for thread in threads]
    return [number * per_core + thread for thread in threads]


def _host_cell(
    dice: Random,
    number: int,
    siblings: tuple[Cpus, ...],
    style: str,
    sizes: tuple[int, ...],
) -> HostCell:
    every = sum(siblings)
    cpus, pcpus = every, every
    if style == "apart":
        # Mostly whole cores on one side.
        pcpus = sum(core for core in siblings if dice.random() < 0.6)
        if dice.random() < 0.2:
            pcpus = _part(dice, every, 0.6)
        cpus = every & ~pcpus
    elif style == "pinned":
        cpus = 0
    elif style == "shared":
        pcpus = 0
    listed = list(siblings)
    if dice.random() < 0.2:
        dice.shuffle(listed)
    memory = dice.choice((1024, 2048, 4096))
    use = dice.choice((0, 0, 256, 300, 1024))
    return HostCell(
        number,
        cpus,
        pcpus,
        memory,
        pinned=_part(dice, pcpus, dice.choice((0, 0, 0, 0.2, 0.4))),
        siblings=tuple(listed),
        cpu_usage=dice.choice((0, 0, 1, 2, 9)),
        memory_usage=use,
        pages=tuple(_pages(dice, size, memory // len(sizes)) for size in sizes),
        physical_networks=frozenset(one for one in NETWORKS if dice.random() < 0.2),
        is_tunnelled=dice.random() < 0.2,
    )


def _pages(dice: Random, size: int, memory: int) -> Pages:
    share = dice.choice((1, 1, 1, 2))
    total = memory * 1024 // size // share
    used = dice.choice((0, 0, 0, 0, total // 2, total // 4, total))
    reserved = dice.choice((0, 0, 0, min(total - used, 8)))
    return Pages(size, total, used, reserved)


def _pools(dice: Random, in_books: bool) -> tuple[Pool, ...] | None:
    if dice.random() < 0.1:
        return None
    pools = [_pool(dice, number, in_books) for number in range(dice.randrange(8))]
    # As Nova sorts them: those with the fewest keys first.
    return tuple(sorted(pools, key=lambda one: len(one.tags) + bool(one.rp_uuid)))


def _pool(dice: Random, number: int, in_books: bool) -> Pool:
    tags: dict[str, Any] = {
        "vendor_id": "8086",
        "product_id": dice.choice(("10ed", "10ED", "1572")),
        "dev_type": dice.choice(KINDS),
    }
    if dice.random() < 0.3:
        tags["physical_network"] = dice.choice(NETWORKS)
    for name in ("trusted", "remote_managed", "live_migratable", "one_time_use"):
        if dice.random() < 0.2:
            tags[name] = dice.choice(("true", "false", "True"))
    has_provider = in_books and "physical_network" not in tags
    if dice.random() < 0.02:
        number = 0  # in a provider that may have another pool
    return Pool(
        dice.randrange(1, 8),
        dice.choice((None, 0, 0, 1, 1, 2, 3)),
        {**tags, "address": f"0000:{number:02x}:00.0"},
        uuid_of(f"provider {number}") if has_provider else None,
    )


# -- instances ------------------------------------------------------------------------


def _wanted(dice: Random, host: HostTopology) -> Wanted:
    cells = _instance_cells(dice, host) if dice.random() < 0.9 else ()
    devices: tuple[DeviceRequest, ...] = ()
    if dice.random() < 0.5:
        many = dice.choice((1, 1, 1, 2, 3))
        devices = tuple(_request(dice, host, number) for number in range(many))
    wanted = Wanted(cells, devices=devices)
    if any(cell.pcpus for cell in cells[:1]) and dice.random() < 0.25:
        wanted = replace(wanted, isolates_emulator=True)
    if dice.random() < 0.6:
        near = dice.random() < 0.4
        networks = (one for one in NETWORKS if near and dice.random() < 0.4)
        wanted = replace(
            wanted,
            cpu_ratio=dice.choice((1.0, 1.5, 4.0)),
            ram_ratio=dice.choice((1.0, 1.5)),
            physical_networks=frozenset(networks),
            is_tunnelled=near and dice.random() < 0.3,
        )
    return wanted


def _instance_cells(dice: Random, host: HostTopology) -> tuple[InstanceCell, ...]:
    """All of one policy and one page size, as Nova's API makes them."""
    most = max(1, min(4, len(host.cells)))
    count = dice.choice((1, 1, 1, 2, min(2, most), most, dice.randrange(1, 5)))
    sharing = any(cell.cpus for cell in host.cells) or dice.random() < 0.1
    pinning = any(cell.pcpus for cell in host.cells) or dice.random() < 0.1
    policies = [None, "shared"] * sharing + ["dedicated"] * 4 * pinning
    policies += ["mixed"] * 2 * (sharing and pinning) or ["dedicated"]
    policy: Any = dice.choice(policies)
    threads: Any = dice.choice((None, "prefer", "isolate", "require"))
    if policy not in ("dedicated", "mixed"):
        threads = None
    page = dice.choice((None, None, None, SMALL_PAGES, LARGE_PAGES, ANY_PAGES, 4, 2048))
    if page is not None and page > 0 and host.cells and host.cells[0].pages:
        page = dice.choice(host.cells[0].pages).size_kib
    memory = 1024 if page == 1 << 20 else dice.choice((256, 256, 256, 512, 512, 1024))
    memory += dice.random() < 0.05
    cells: list[InstanceCell] = []
    first = 0
    for number in range(count):
        vcpus = mask_of(range(first, first + dice.choice((1, 1, 2, 2, 3, 4))))
        vcpus &= -1 << first
        first = vcpus.bit_length()
        pcpus = {"dedicated": vcpus, "mixed": _part(dice, vcpus, 0.5)}.get(policy, 0)
        if policy == "mixed" and dice.random() < 0.8:
            pcpus = pcpus or vcpus & -vcpus
        cells.append(
            InstanceCell(number, vcpus & ~pcpus, pcpus, memory, page, policy, threads)
        )
    return tuple(cells)


def _request(dice: Random, host: HostTopology, number: int) -> DeviceRequest:
    """Mostly like some pool of the host."""
    wanted = []
    for _ in range(dice.choice((1, 1, 1, 2))):
        tags: dict[str, Any] = {"vendor_id": "8086", "product_id": "10ed"}
        if host.pools and dice.random() < 0.9:
            tags = dict(dice.choice(host.pools).tags)
            tags.pop("address")
        kept = [key for key in tags if dice.random() < 0.7]
        wanted.append({key: tags[key] for key in kept})
        if dice.random() < 0.1:
            wanted[-1]["resource_class"] = "CUSTOM_CARD"
    return DeviceRequest(
        f"request {number}",
        dice.choice((1, 1, 1, 1, 2, 3)),
        tuple(wanted),
        is_of_flavor=dice.random() < 0.7,
        affinity=dice.choice(AFFINITIES),
    )


def _providers(
    dice: Random, host: HostTopology, wanted: Wanted
) -> dict[str, tuple[str, ...]]:
    """One for each device of a flavor, mostly with a pool that is like it."""
    known = {pool.rp_uuid: pool.tags for pool in host.pools or () if pool.rp_uuid}
    found: dict[str, tuple[str, ...]] = {}
    for request in wanted.devices:
        if not known or not request.is_of_flavor or dice.random() < 0.05:
            continue
        like = [
            uuid
            for uuid, tags in known.items()
            if any(one.items() <= tags.items() for one in request.wanted)
        ]
        for suffix in request.suffixes:
            uuid = dice.choice(sorted(known))
            if like and dice.random() < 0.9:
                uuid = like[0] if dice.random() < 0.7 else dice.choice(like)
            found[suffix] = (uuid,)
    return found
