"""A fleet written into Gantt's books, as agents and clients would: hosts report, cards
and pools are providers, what is used is allocated. And what books hold, told again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from gantt.bench.bench_fleets import (
    AGGREGATE,
    CARD,
    CARD_CELLS,
    CPU_RATIO,
    FILL,
    POOL,
    VFS,
    BenchFleet,
    Fact,
    Host,
    cards_of,
    cells_of,
    uuid_of,
)
from gantt.engine.gantt import Gantt
from gantt.model import rows as t
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.hosts import HostStats
from gantt.state.state import State

CARD_CLASS: Final = "SRIOV_NET_VF"
SHARING: Final = "MISC_SHARES_VIA_AGGREGATE"
CLASSES: Final = ("VCPU", "MEMORY_MB", "DISK_GB")
_WRITERS: Final = 64
_STEP: Final = 500
T = TypeVar("T")


class Each(Protocol):
    """What ``writing`` gives."""

    def __call__(self, act: Callable[[T], object], of: Iterable[T], /) -> None: ...


Progress = Callable[[int, int], None]
"""Takes how much is done, and of how much."""


def stats_of(host: Host) -> HostStats:
    """What ``host`` reports."""
    stats = {"num_instances": "0", "io_workload": "0", "failed_builds": "0"}
    return HostStats(
        uuid=host.uuid,
        vcpus=host.vcpus,
        memory_mb=host.memory_mb,
        local_gb=host.disk_gb,
        vcpus_used=host.vcpus_used,
        memory_mb_used=host.memory_mb_used,
        local_gb_used=host.disk_gb_used,
        free_ram_mb=host.memory_mb - host.memory_mb_used,
        free_disk_gb=host.disk_gb - host.disk_gb_used,
        hypervisor_type="QEMU",
        hypervisor_version=8_002_000,
        hypervisor_hostname=host.name,
        cpu_info={},
        supported_instances=[["x86_64", "kvm", "hvm"]],
        cpu_allocation_ratio=CPU_RATIO,
        ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0,
        stats=stats,
        **_parts(host),
    )


def _parts(host: Host) -> dict[str, Any]:
    if not host.cells:
        return {}
    return {"numa_topology": {"cells": cells_of(host)}, "pci_stats": cards_of(host)}


@contextmanager
def writing() -> Iterator[Each]:
    """Does something to each of many at once, as many callers would."""
    with ThreadPoolExecutor(_WRITERS) as writers:

        def each(act: Callable[[T], object], of: Iterable[T]) -> None:
            for _ in writers.map(act, of):
                pass

        yield each


def furnish(books: Gantt, fleet: BenchFleet, progress: Progress) -> None:
    """Write ``fleet`` into empty books."""
    with writing() as each:
        for start in range(0, len(fleet.hosts), _STEP):
            hosts = fleet.hosts[start : start + _STEP]
            each(lambda host: _report(books, host), hosts)
            each(lambda host: _add_cards(books, host), (h for h in hosts if h.cells))
            each(lambda host: _join(books, host), (h for h in hosts if h.pool >= 0))
            fills = [one for one in map(_fill, hosts) if one is not None]
            if fills:
                books.set_allocations(fills)
            progress(min(start + _STEP, len(fleet.hosts)), len(fleet.hosts))
        each(lambda pool: _add_pool(books, *pool), enumerate(fleet.pools))


def _report(books: Gantt, host: Host) -> None:
    books.update_host(host.name, host.name, stats_of(host))


def _add_cards(books: Gantt, host: Host) -> None:
    for place, cell in enumerate(CARD_CELLS):
        uuid = uuid_of(CARD, host.number, place)
        books.create_provider(
            f"{host.name}-card{cell}", uuid=uuid, parent_uuid=host.uuid
        )
        books.set_inventories(uuid, {CARD_CLASS: Inventory(VFS)}, generation=0)


def _join(books: Gantt, host: Host) -> None:
    books.set_aggregates(host.uuid, (uuid_of(AGGREGATE, host.pool),))


def _add_pool(books: Gantt, number: int, disk_gb: int) -> None:
    uuid = uuid_of(POOL, number)
    books.create_provider(f"pool{number}", uuid=uuid)
    books.set_inventories(uuid, {"DISK_GB": Inventory(disk_gb)}, generation=0)
    books.set_traits(uuid, (SHARING,))
    books.set_aggregates(uuid, (uuid_of(AGGREGATE, number),))


def _fill(host: Host) -> ConsumerAllocations | None:
    """What is used on it, as one consumer has it."""
    used = (host.vcpus_used, host.memory_mb_used, host.disk_gb_used)
    amounts = {name: one for name, one in zip(CLASSES, used, strict=True) if one}
    if not amounts:
        return None
    consumer = uuid_of(FILL, host.number)
    shares = {host.uuid: amounts}
    return ConsumerAllocations(consumer, shares, "bench", "bench", None, "INSTANCE")


Rows = tuple[
    Iterable[tuple[int, str, int]],
    Iterable[tuple[int, str, int]],
    Iterable[tuple[int, str, int]],
]
"""Providers (id, name, id of the root), inventories (provider, class, total),
allocations (provider, class, used)."""


def facts_of_rows(rows: Rows) -> Iterator[Fact]:
    """What tables of Placement's form hold of each tree."""
    names: dict[int, str] = {}
    roots: dict[int, int] = {}
    for key, name, root in rows[0]:
        roots[key] = root
        if key == root:
            names[key] = name
    total: dict[int, Counter[str]] = defaultdict(Counter)
    used: dict[int, Counter[str]] = defaultdict(Counter)
    for found, of in ((total, rows[1]), (used, rows[2])):
        for provider, kind, amount in of:
            found[roots[provider]][kind] += amount
    for root, name in names.items():
        have, take = total[root], used[root]
        pairs = tuple(one for kind in CLASSES for one in (have[kind], take[kind]))
        yield name, (*pairs, have[CARD_CLASS])


def rows_of(state: State) -> Rows:
    """What the columns of a State hold, as lists of rows."""
    name_of = state.classes.name_of_id
    providers = [
        (one.id, one.name, one.root_provider_id)
        for one in state.rows(t.PROVIDERS)
        if isinstance(one, t.ProviderRow)
    ]
    inventories = [
        (one.resource_provider_id, name_of(one.resource_class_id), one.total)
        for one in state.rows(t.INVENTORIES)
        if isinstance(one, t.InventoryRow)
    ]
    allocations = [
        (one.resource_provider_id, name_of(one.resource_class_id), one.used)
        for one in state.rows(t.ALLOCATIONS)
        if isinstance(one, t.AllocationRow)
    ]
    return providers, inventories, allocations
