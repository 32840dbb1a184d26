"""What a host has of NUMA cells and devices, as an answer.

Apart from the other questions about the fleet: a list of all hosts would be twice as
long with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.errors import NotFound
from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import Fit, FitLack, HostCell, HostTopology, Pages
from gantt.model.topology_view import (
    CellView,
    HostTopologyView,
    PagesView,
    PendingView,
    PoolView,
)
from gantt.placement.fleet_queries import UNREADABLE
from gantt.state.promises import Promises
from gantt.state.state import State
from gantt.topology.lack_text import sentence
from gantt.topology.pinning import free_cpus
from gantt.topology.promised_topology import Remaining, after, fitted


def host_topology(state: State, host: str, node: str) -> HostTopologyView:
    """Raises NotFound."""
    table = state.fleet.hosts
    row = table.row_of(host, node)
    if row is None:
        raise NotFound(
            f"There is no host {host} with node {node}: GET /gantt/hosts lists all."
        )
    reported, left = table.reported[row], table.left[row]
    created_at, updated_at = table.dates(row)
    return HostTopologyView(
        host,
        node,
        created_at if updated_at is None else updated_at,
        reported.obeys,
        tuple(cells_view(reported, left)),
        None if reported.pools is None else tuple(pools_view(reported, left)),
        tuple(_pending(state, table.promises[row])),
        table.promises[row].left.is_closed,
        table.stats[row].get(UNREADABLE, {}),
    )


def _pending(state: State, promises: Promises) -> Iterator[PendingView]:
    left = Remaining(promises.report)
    for claim_id, pending in promises.pendings():
        if pending.is_counted:
            continue
        found = fitted(left, pending)
        left = after(left, pending, found)
        row = state.fleet.claims.by_id[claim_id]
        fit = Fit() if isinstance(found, FitLack) else found
        cpus = 0
        for cell in fit.cells:
            cpus |= cell.emulator | mask_of(cpu for _, cpu in cell.pinning)
        yield PendingView(
            row.claim,
            row.instance_uuid,
            promises.report.obeys and pending.fit is not None,
            tuple(cell.host_cell for cell in fit.cells),
            tuple(numbers_of(cpus)),
            sum(taken.count for taken in fit.devices),
            tuple(device.address for taken in fit.devices for device in taken.devices),
            sentence(found) if isinstance(found, FitLack) else None,
        )


def cells_view(reported: HostTopology, left: HostTopology) -> Iterator[CellView]:
    """The cells of a report, with what is ``left`` of them beside pending claims; of
    one that is not there, nothing is."""
    by_id = {cell.id: cell for cell in left.cells}
    return (_cell(cell, by_id.get(cell.id)) for cell in reported.cells)


def pools_view(reported: HostTopology, left: HostTopology) -> Iterator[PoolView]:
    """The pools of a report, with what is ``left`` of them."""
    by_kind = {pool.kind: pool for pool in left.pools or ()}
    for pool in reported.pools or ():
        rest = by_kind.get(pool.kind)
        free = 0 if rest is None else rest.count
        devices = () if rest is None else rest.devices
        yield PoolView(
            free,
            pool.count - free,
            pool.numa_node,
            pool.rp_uuid,
            pool.tags,
            tuple(device.address for device in devices),
        )


def _cell(cell: HostCell, left: HostCell | None) -> CellView:
    free = 0 if left is None else free_cpus(left)
    claimed = 0 if left is None else free_cpus(cell) & ~free
    memory = 0 if left is None else left.memory_usage - cell.memory_usage
    rest = {} if left is None else {pages.size_kib: pages for pages in left.pages}
    return CellView(
        cell.id,
        cell.socket,
        tuple(numbers_of(cell.cpus)),
        tuple(numbers_of(cell.pcpus)),
        tuple(numbers_of(cell.pinned)),
        tuple(numbers_of(claimed)),
        tuple(numbers_of(free)),
        tuple(sorted(tuple(numbers_of(core)) for core in cell.siblings)),
        cell.cpu_usage if left is None else left.cpu_usage,
        cell.memory,
        cell.memory_usage,
        memory,
        tuple(_pages(pages, rest.get(pages.size_kib)) for pages in cell.pages),
        tuple(sorted(cell.physical_networks)),
        cell.is_tunnelled,
    )


def _pages(pages: Pages, left: Pages | None) -> PagesView:
    claimed = 0 if left is None else left.used - pages.used
    # Memory of the smallest size may be overcommitted.
    free = 0 if left is None else max(0, left.free)
    return PagesView(
        pages.size_kib, pages.total, pages.used, pages.reserved, claimed, free
    )
