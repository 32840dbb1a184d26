"""What the State would be with other inventories, or without some rows, to be asked and
never applied to.

Apart from ``State`` because it is none: it has the tables of one, all but the columns
that differ, and is forgotten with the answer, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy, deepcopy
from typing import TypeAlias

from gantt.model.rows import AllocationRow, BookingRow, InstanceRow
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_snapshot import copied
from gantt.state.host_table import USE, HostTable
from gantt.state.inventory_columns import ClassTable
from gantt.state.state import State
from gantt.state.tree_rooms import TreeRooms

ClaimedRow: TypeAlias = AllocationRow | InstanceRow | BookingRow


def supposing(
    state: State, class_index: int, change: Callable[[ClassTable], ClassTable]
) -> State:
    """``state`` with another table of a class; all else is shared with it."""
    found, table = copy(state), state.inventories.table(class_index)
    found.inventories = state.inventories.supposing(
        class_index, change(ClassTable() if table is None else table)
    )
    return found


def without(state: State, rows: Collection[ClaimedRow]) -> State:
    """``state`` as if these rows had never been: amounts, columns of hosts, instances,
    groups, cells and devices. Consumers and allocations are still listed."""
    allocations = [row for row in rows if isinstance(row, AllocationRow)]
    indexes = state.classes.index_by_id
    found = state
    for class_index in {indexes[row.resource_class_id] for row in allocations}:
        found = supposing(
            found, class_index, lambda table: table.supposing(used=table.used.copy())
        )
    for row in allocations:
        provider = state.providers.row_by_id[row.resource_provider_id]
        class_index = indexes[row.resource_class_id]
        found.inventories.add_used(provider, class_index, -row.used)
    found = copy(found)
    found.fleet = _fleet_without(
        state.fleet,
        [row for row in rows if isinstance(row, InstanceRow)],
        [row for row in rows if isinstance(row, BookingRow)],
    )
    found.fleet.rooms = TreeRooms(state.providers, found.inventories, state.classes)
    return found


def _fleet_without(
    fleet: Fleet, instances: list[InstanceRow], claims: list[BookingRow]
) -> Fleet:
    found = copy(fleet)
    if instances:
        found.instances = copied(fleet.instances)
    for named in instances:
        found.instances.remove(named.id)
    if claims:
        found.claims = copied(fleet.claims)
        at = fleet.hosts.row_by_id
        places = {at[one.host_id] for one in claims if one.host_id in at}
        found.hosts = _claimable(fleet.hosts, places)
    for claim in claims:
        found.claims.remove(claim.id)
        row = found.hosts.row_by_id.get(claim.host_id)
        if row is not None:
            found.hosts.claim(row, claim, -1)
    return found


def _claimable(hosts: HostTable, rows: Collection[int]) -> HostTable:
    """``hosts``, with copies of what claims change of those at ``rows``."""
    found = copy(hosts)
    for name in (*USE, "pci_free"):
        setattr(found, name, getattr(hosts, name).copy())
    found.left, found.promises = hosts.left.copy(), hosts.promises.copy()
    fitted = [row for row in rows if not hosts.promises[row].is_free]
    for row in fitted:
        found.promises[row] = hosts.promises[row].copy()
    if fitted:
        found.topology = deepcopy(hosts.topology)
    return found
