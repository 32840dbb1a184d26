"""One instance cell on one host cell: CPUs, memory and pages; and in which order the
host cells are tried.

It stands apart from the search for a place of all cells (``fit``), which asks here for
each pair once. Facts: nova-scheduler 11.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from gantt.model.topology import (
    ANY_PAGES,
    LARGE_PAGES,
    SMALL_PAGES,
    FitLack,
    FittedCell,
    HostCell,
    InstanceCell,
    Pages,
    Pool,
)
from gantt.topology.pinning import Packing, free_cpus, pack

KIB_PER_MB: Final = 1024
PINNED: Final = ("dedicated", "mixed")


def is_pinned(cell: InstanceCell) -> bool:
    return cell.policy in PINNED


def fit_cell(
    host: HostCell,
    cell: InstanceCell,
    *,
    reserved: int = 0,
    cpu_ratio: float | None = None,
    ram_ratio: float | None = None,
) -> FittedCell | FitLack:
    """``cell`` on ``host``, or all that ``host`` lacks for it.

    ``reserved``: CPUs to pin for the emulator; the ratios as in ``Wanted``.
    """
    packing = _packing(host, cell, reserved)
    page_kib = _page_size(host, cell)
    shared = _lack_of_shares(host, cell, cpu_ratio, ram_ratio)
    if (
        isinstance(packing, Packing)
        and not isinstance(page_kib, FitLack)
        and shared is None
    ):
        return FittedCell(cell, host.id, packing.pinning, packing.emulator, page_kib)
    first, *more = (
        one for one in (packing, page_kib, shared) if isinstance(one, FitLack)
    )
    return replace(first, cell=host.id, more=tuple(more))


def _packing(host: HostCell, cell: InstanceCell, reserved: int) -> Packing | FitLack:
    if not is_pinned(cell):
        return Packing()
    wanted = cell.pcpus.bit_count() + reserved
    free = free_cpus(host).bit_count()
    if wanted > free:
        return FitLack("cpus", wanted, free, "pinned CPUs", host.id)
    return pack(host, cell, reserved)


def _lack_of_shares(
    host: HostCell,
    cell: InstanceCell,
    cpu_ratio: float | None,
    ram_ratio: float | None,
) -> FitLack | None:
    """Shared CPUs: none may meet itself on a CPU, and the ratios hold."""
    if cell.policy == "dedicated":
        return None
    cpus, wanted = host.cpus.bit_count(), cell.cpus.bit_count()
    if wanted > cpus:
        return FitLack("shared_cpus", wanted, cpus, "CPUs", host.id)
    if cpu_ratio is not None and host.cpu_usage + wanted > cpus * cpu_ratio:
        left = max(0, int(cpus * cpu_ratio) - host.cpu_usage)
        return FitLack("shared_cpus", wanted, left, "CPUs", host.id, "with overcommit")
    limit = None if ram_ratio is None else host.memory * ram_ratio
    if limit is not None and host.memory_usage + cell.memory > limit:
        left = max(0, int(limit) - host.memory_usage)
        return FitLack("memory", cell.memory, left, "MB", host.id, "with overcommit")
    return None


def _page_size(host: HostCell, cell: InstanceCell) -> int | FitLack | None:
    """The page size for ``cell``; None where it asks for none and its memory fits."""
    if cell.page_kib is not None:
        return _asked_page_size(host, cell)
    if not host.pages:
        has = host.memory
        if is_pinned(cell):
            has -= host.memory_usage
        if cell.memory > has:
            return FitLack("memory", cell.memory, max(0, has), "MB", host.id)
        return None
    # Without a page size, memory of shared instances may be overcommitted.
    pages = host.pages[0]
    return _lack_of_pages(host, cell, pages, pages.free if is_pinned(cell) else None)


def _asked_page_size(host: HostCell, cell: InstanceCell) -> int | FitLack:
    candidates = _candidates(host, cell)
    if not candidates:
        assert cell.page_kib is not None
        size = "large pages" if cell.page_kib == LARGE_PAGES else "pages"
        detail = size_text(cell.page_kib) if cell.page_kib > 0 else size
        return FitLack("page_size", 1, 0, "page sizes", host.id, detail)
    nearest: FitLack | None = None
    for pages in candidates:
        lack = _lack_of_pages(host, cell, pages, pages.free)
        if lack is None:
            return pages.size_kib
        if nearest is None or share(lack) > share(nearest):
            nearest = lack
    assert nearest is not None
    return nearest


def _candidates(host: HostCell, cell: InstanceCell) -> tuple[Pages, ...]:
    """Pages that may be used, the preferred first."""
    match cell.page_kib:
        case int(name) if name == SMALL_PAGES:
            return host.pages[:1]
        case int(name) if name == LARGE_PAGES:
            return host.pages[:0:-1]
        case int(name) if name == ANY_PAGES:
            return host.pages[::-1]
    return tuple(one for one in host.pages if one.size_kib == cell.page_kib)


def _lack_of_pages(
    host: HostCell, cell: InstanceCell, pages: Pages, free: int | None
) -> FitLack | None:
    """``free`` None: all of them count, used or not."""
    kib = cell.memory * KIB_PER_MB
    detail = size_text(pages.size_kib)
    if kib % pages.size_kib:
        return FitLack("page_size", cell.memory, 0, "MB", host.id, detail)
    has = pages.total if free is None else free
    wanted = kib // pages.size_kib
    if wanted > has:
        return FitLack("pages", wanted, max(0, has), "pages", host.id, detail)
    return None


def size_text(kib: int) -> str:
    """A page size for people: 4 KB, 2 MB, 1 GB."""
    for unit, size in (("GB", 1 << 20), ("MB", 1 << 10)):
        if kib % size == 0:
            return f"{kib // size} {unit}"
    return f"{kib} KB"


def share(lack: FitLack) -> float:
    """How much of what is asked is there: 1 would be all."""
    return lack.has / lack.asked if lack.asked else 1.0


def missing(lack: FitLack) -> float:
    """The sum of the shares that are missing."""
    return sum(1 - share(one) for one in (lack, *lack.more))


def nearest(lacks: Iterable[FitLack]) -> FitLack:
    """What lacks least, the first of equal ones."""
    return min(lacks, key=missing)


def in_order(
    hosts: tuple[HostCell, ...],
    cells: tuple[InstanceCell, ...],
    pools: tuple[Pool, ...] | None,
    *,
    wants_devices: bool,
    packs: bool,
) -> tuple[HostCell, ...]:
    """Host cells as they are tried. With as many as instance cells: as reported.

    Devices decide first (cells with many of them, or for instances without devices
    those with few), then CPU use, then memory: the emptiest first, or with ``packs``
    the fullest.
    """
    if len(hosts) <= len(cells):
        return hosts
    counts: dict[int | None, int] = {}
    for pool in pools or ():
        counts[pool.numa_node] = counts.get(pool.numa_node, 0) + pool.count
    device_sign = -1 if wants_devices else 1
    sign = -1 if packs else 1
    pinned = is_pinned(cells[0])

    def key(host: HostCell) -> tuple[int, int, int]:
        use = -free_cpus(host).bit_count() if pinned else host.cpu_usage
        return (
            device_sign * counts.get(host.id, 0),
            sign * use,
            sign * (host.memory_usage - host.memory),
        )

    return tuple(sorted(hosts, key=key))
