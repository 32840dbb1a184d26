"""What is left of a host after an instance took its share.

``take`` on the host that a Fit was made for is the second half of ``fit``; on a newer
report it shows whether the same CPUs and devices are free still. Facts: nova-scheduler
11.4, 12.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gantt.errors import NotFree
from gantt.model.cpu_sets import mask_of, text_of
from gantt.model.printable import counted
from gantt.model.topology import (
    Cpus,
    Device,
    Fit,
    FittedCell,
    HostCell,
    HostTopology,
    Pages,
    Pool,
    TakenDevices,
)
from gantt.topology.cells import KIB_PER_MB, is_pinned
from gantt.topology.devices import without_linked
from gantt.topology.pinning import cores_with, free_cpus


def take(host: HostTopology, fit: Fit, *, may_be_counted: bool = False) -> HostTopology:
    """``host`` without what ``fit`` takes. ``may_be_counted``: what of its CPUs and
    named devices is not free is its own already, and of its huge pages as many as the
    host reports as used: a guest may not have touched the others yet.

    Raises NotFree if a cell, CPU or device of ``fit`` is unknown there or not free.
    Memory and pages may fall below zero on a report with less of them: what was
    promised stands, and no instance is fitted onto pages that are not free.
    """
    pools = host.pools
    if fit.devices:
        devices = fit.devices
        if may_be_counted:
            pools, devices = _without_named(pools or (), devices)
        pools = _without(pools or (), devices)
    return replace(host, cells=_less_cells(host, fit, may_be_counted), pools=pools)


def _without_named(
    pools: Iterable[Pool], devices: tuple[TakenDevices, ...]
) -> tuple[tuple[Pool, ...], tuple[TakenDevices, ...]]:
    """``pools`` without the named ``devices`` and what is linked to them, whichever
    pool they are in by now; and those that are not named."""
    named = tuple(device for taken in devices for device in taken.devices)
    addresses = {device.address for device in named}
    left = []
    for pool in pools:
        kept = tuple(one for one in pool.devices if one.address not in addresses)
        if len(kept) < len(pool.devices):
            pool = replace(pool, count=len(kept), devices=kept)
        left.append(pool)
    found = tuple(pool for pool in without_linked(left, named) if pool.count)
    return found, tuple(taken for taken in devices if not taken.devices)


def _less_cells(
    host: HostTopology, fit: Fit, may_be_counted: bool
) -> tuple[HostCell, ...]:
    cells = {cell.id: cell for cell in host.cells}
    for fitted in fit.cells:
        if fitted.host_cell not in cells:
            raise NotFree(
                f"Cell {fitted.host_cell} is to be used, but the host has the cells "
                f"{sorted(cells)}; fit the instance again."
            )
        cell = cells[fitted.host_cell]
        cells[cell.id] = replace(
            cell,
            pinned=_pinned(cell, fitted, may_be_counted),
            cpu_usage=cell.cpu_usage + fitted.cell.cpus.bit_count(),
            memory_usage=cell.memory_usage + fitted.cell.memory,
            pages=_pages(cell, fitted, may_be_counted),
        )
    return tuple(cells.values())


def _pinned(cell: HostCell, fitted: FittedCell, may_be_counted: bool) -> Cpus:
    if not is_pinned(fitted.cell):
        return cell.pinned
    cpus = mask_of(cpu for _, cpu in fitted.pinning) | fitted.emulator
    unknown = cpus & ~cell.pcpus
    if fitted.cell.threads == "isolate":
        cpus = cores_with(cell, cpus)
    wrong = unknown if may_be_counted else unknown | (cpus & cell.pinned)
    if wrong:
        raise NotFree(
            f"CPUs {text_of(wrong)} of cell {cell.id} are pinned already or unknown; "
            f"free ones are {text_of(free_cpus(cell))}. Fit the instance again."
        )
    return cell.pinned | cpus


def _pages(
    cell: HostCell, fitted: FittedCell, may_be_counted: bool
) -> tuple[Pages, ...]:
    """The pages that were taken, of the size that was chosen, else of the smallest."""
    if not cell.pages:
        return ()
    smallest = cell.pages[0].size_kib
    size = fitted.page_kib or smallest
    is_huge = size != smallest
    taken = fitted.cell.memory * KIB_PER_MB // size
    return tuple(
        _less_pages(one, taken, may_be_counted and is_huge)
        if one.size_kib == size
        else one
        for one in cell.pages
    )


def _less_pages(pages: Pages, taken: int, may_be_counted: bool) -> Pages:
    strange = pages.used if pages.strange is None else pages.strange
    counted = min(taken, strange) if may_be_counted else 0
    return replace(pages, used=pages.used + taken - counted, strange=strange - counted)


def _is_of(pool: Pool, taken: TakenDevices) -> bool:
    return (
        pool.numa_node == taken.numa_node
        and pool.rp_uuid == taken.rp_uuid
        and pool.tags == taken.tags
    )


def _without(
    pools: Iterable[Pool], devices: tuple[TakenDevices, ...]
) -> tuple[Pool, ...]:
    left = list(pools)
    for taken in devices:
        place = _giver(left, taken)
        left[place] = _less(left[place], taken)
        left = list(without_linked(left, taken.devices))
    return tuple(pool for pool in left if pool.count)


def _giver(pools: list[Pool], taken: TakenDevices) -> int:
    """The place of a pool that has them. Raises NotFree."""
    alike = [place for place, pool in enumerate(pools) if _is_of(pool, taken)]
    for place in alike:
        if pools[place].count >= taken.count and not _gone(pools[place], taken):
            return place
    free = max((pools[place].count for place in alike), default=0)
    names = ", ".join(device.address for device in taken.devices)
    raise NotFree(
        f"The instance takes {counted(taken.count, 'device')} {names or taken.tags} at "
        f"NUMA node {taken.numa_node}, but {free} of that pool are free"
        f"{' and not those' if free >= taken.count else ''}. Fit the instance again."
    )


def _gone(pool: Pool, taken: TakenDevices) -> list[Device]:
    """Those that it does not list; a device that was never named may be any."""
    if pool.devices and len(taken.devices) != taken.count:
        return list(pool.devices)
    return [device for device in taken.devices if device not in pool.devices]


def _less(pool: Pool, taken: TakenDevices) -> Pool:
    if not pool.devices:
        return replace(pool, count=pool.count - taken.count)
    kept = tuple(device for device in pool.devices if device not in taken.devices)
    return replace(pool, count=len(kept), devices=kept)
