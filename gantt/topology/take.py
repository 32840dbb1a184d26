"""What is left of a host after an instance took its share, and after it gave it back.

``take`` on the host that a Fit was made for is the second half of ``fit``; on a newer
report it shows whether the same CPUs and devices are free still. Facts: nova-scheduler
11.4, 12.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gantt.errors import NotFree
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
from gantt.topology.pinning import cores_with, mask, numbers


def take(host: HostTopology, fit: Fit) -> HostTopology:
    """``host`` without what ``fit`` takes.

    Raises NotFree if a cell, CPU or device of ``fit`` is unknown there or not free.
    """
    cells = _changed(host, fit, 1)
    pools = host.pools
    if fit.devices:
        pools = _without(pools or (), fit.devices)
    return replace(host, cells=cells, pools=pools)


def give_back(host: HostTopology, fit: Fit) -> HostTopology:
    """``host`` with what ``fit`` took.

    A PF that went with its VF, or VFs with their PF, stay out until the next report: of
    them, only the host knows whether another instance uses one. Raises NotFree for a
    cell or CPU that is unknown or not pinned, and for a device that is free already.
    """
    cells = _changed(host, fit, -1)
    pools = host.pools
    for taken in fit.devices:
        pools = _with(pools or (), taken)
    return replace(host, cells=cells, pools=pools)


def _changed(host: HostTopology, fit: Fit, sign: int) -> tuple[HostCell, ...]:
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
            pinned=_pinned(cell, fitted, sign),
            cpu_usage=max(0, cell.cpu_usage + sign * fitted.cell.cpus.bit_count()),
            memory_usage=max(0, cell.memory_usage + sign * fitted.cell.memory),
            pages=_pages(cell, fitted, sign),
        )
    return tuple(cells.values())


def _pinned(cell: HostCell, fitted: FittedCell, sign: int) -> Cpus:
    if not is_pinned(fitted.cell):
        return cell.pinned
    cpus = mask(cpu for _, cpu in fitted.pinning) | fitted.emulator
    unknown = cpus & ~cell.pcpus
    if fitted.cell.threads == "isolate":
        cpus = cores_with(cell, cpus)
    wrong = unknown | (cpus & cell.pinned if sign > 0 else cpus & ~cell.pinned)
    if wrong:
        state = "pinned already" if sign > 0 else "not pinned"
        raise NotFree(
            f"CPUs {list(numbers(wrong))} of cell {cell.id} are {state} or unknown; "
            f"free ones are {list(numbers(cell.pcpus & ~cell.pinned))}. Fit the "
            "instance again."
        )
    return cell.pinned ^ cpus


def _pages(cell: HostCell, fitted: FittedCell, sign: int) -> tuple[Pages, ...]:
    """Of the size that was chosen, else of the smallest."""
    if not cell.pages:
        return ()
    size = fitted.page_kib or cell.pages[0].size_kib
    return tuple(
        replace(
            one,
            used=max(0, one.used + sign * fitted.cell.memory * KIB_PER_MB // size),
        )
        if one.size_kib == size
        else one
        for one in cell.pages
    )


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
        place = next((n for n, pool in enumerate(left) if _is_of(pool, taken)), None)
        free = 0 if place is None else left[place].count
        gone = () if place is None else _gone(left[place], taken)
        if place is None or free < taken.count or gone:
            names = ", ".join(device.address for device in gone or taken.devices)
            raise NotFree(
                f"{taken.count} devices {names or taken.tags} at NUMA node "
                f"{taken.numa_node} are to be taken, but {free} of that pool are free"
                f"{' and not those' if gone else ''}. Fit the instance again."
            )
        left[place] = _less(left[place], taken)
        left = list(without_linked(left, taken.devices))
    return tuple(pool for pool in left if pool.count)


def _gone(pool: Pool, taken: TakenDevices) -> list[Device]:
    return [device for device in taken.devices if device not in pool.devices]


def _less(pool: Pool, taken: TakenDevices) -> Pool:
    if not pool.devices:
        return replace(pool, count=pool.count - taken.count)
    kept = tuple(device for device in pool.devices if device not in taken.devices)
    return replace(pool, count=len(kept), devices=kept)


def _with(pools: Iterable[Pool], taken: TakenDevices) -> tuple[Pool, ...]:
    left = list(pools)
    for place, pool in enumerate(left):
        if not _is_of(pool, taken):
            continue
        double = [device for device in taken.devices if device in pool.devices]
        if double:
            raise NotFree(
                f"Device {double[0].address} is to be given back, but it is free."
            )
        left[place] = replace(
            pool,
            count=pool.count + taken.count,
            devices=(*pool.devices, *taken.devices),
        )
        return tuple(left)
    back = Pool(taken.count, taken.numa_node, taken.tags, taken.rp_uuid, taken.devices)
    return (*left, back)
