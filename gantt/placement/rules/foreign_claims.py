"""Instances that another program placed: they count until their host names them.

Where Gantt is the cloud's Placement, nova-scheduler writes an instance's allocations
here some seconds before a row of the host says anything of it. Meanwhile it stands
beside them as a claim that was confirmed, so that its load, its building and its server
group count at once. It ends as any does, but cannot be released: it made no
allocations, and who wrote them minds their generation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from gantt.model import rows as t
from gantt.model.commands import ConsumerAllocations
from gantt.model.names import canonical_uuid
from gantt.model.rows import BookingRow
from gantt.placement.fleet_queries import LISTING, SAVED, arrival_name, is_arrival
from gantt.placement.rules import counted_claims
from gantt.placement.rules.draft import Draft
from gantt.placement.rules.leases import allocations_of
from gantt.state.state import State

_CPUS: Final = ("VCPU", "PCPU")
_INSTANCE: Final = (UNSET, "INSTANCE")


def arrive(draft: Draft, said: ConsumerAllocations) -> None:
    """One consumer's allocations were written, and no other's with them: a move writes
    those of two. Hosts that do not name their instances would keep it for ever; so
    would all hosts one whose name is not as they write uuids."""
    state, uuid = draft.state, said.consumer_uuid
    if said.consumer_type not in _INSTANCE or canonical_uuid(uuid) != uuid:
        return
    known = state.fleet.claims.by_instance.get(uuid)
    mine = None if known is None else counted_claims.current(draft, known)
    if mine is not None:
        _write_again(draft, mine, said)
        return
    row = _host_of(state, uuid, said.allocations)
    if row is None:
        return
    amounts = _amounts(state, said, row)
    if not amounts[0] and not amounts[1]:
        return
    found = BookingRow(
        draft.new_id(t.BOOKINGS),
        arrival_name(uuid, draft.now),
        uuid,
        int(state.fleet.hosts.id[row]),
        *amounts,
        group_uuid=None,
        leased_until=None,
        consumer_generation=_generation(state, uuid),
        remote=None,
        created_at=draft.now,
        updated_at=None,
    )
    draft.change(t.BOOKINGS, None, found)


def _write_again(draft: Draft, mine: BookingRow, said: ConsumerAllocations) -> None:
    """Its allocations are others now, on its host still."""
    state = draft.state
    row = state.fleet.hosts.row_by_id.get(mine.host_id)
    if row is None or not is_arrival(mine):
        return
    amounts = _amounts(state, said, row)
    if amounts == (mine.vcpus, mine.memory_mb, mine.disk_mb):
        return
    vcpus, memory_mb, disk_mb = amounts
    again = replace(
        mine,
        vcpus=vcpus,
        memory_mb=memory_mb,
        disk_mb=disk_mb,
        consumer_generation=_generation(state, mine.instance_uuid),
        updated_at=draft.now,
    )
    draft.put(t.BOOKINGS, again)


def _generation(state: State, uuid: str) -> int:
    """The generation of the consumer, once it is written."""
    consumer = state.consumers.find(uuid)
    return 1 if consumer is None else consumer.generation + 1


def _host_of(state: State, uuid: str, providers: Iterable[str]) -> int | None:
    """The host that has the instance now, and had not before; None: it is known there
    already, or the host does not say which are."""
    table, hosts = state.providers, state.fleet.hosts
    had = {
        int(table.root[table.row_by_id[one.resource_provider_id]])
        for one in allocations_of(state, uuid)
    }
    for provider in providers:
        place = table.row_of(provider)
        root = None if place is None else int(table.root[place])
        if root is None or root in had:
            continue
        for row in hosts.rows_by_provider.get(root, ()):
            stats, there = hosts.stats[row], state.fleet.instances.on(hosts.hosts[row])
            if (SAVED in stats or LISTING in stats) and uuid not in there:
                return row
    return None


def _amounts(state: State, said: ConsumerAllocations, row: int) -> tuple[int, int, int]:
    """VCPUs, MB of memory and of disk, in the tree of the host at ``row``."""
    table, found = state.providers, dict[str, int]()
    provider = int(state.fleet.hosts.provider[row])
    for uuid, amounts in said.allocations.items():
        place = table.row_of(uuid)
        if place is not None and table.root[place] == table.root[provider]:
            for name, amount in amounts.items():
                found[name] = found.get(name, 0) + amount
    vcpus = sum(found.get(name, 0) for name in _CPUS)
    return vcpus, found.get("MEMORY_MB", 0), 1024 * found.get("DISK_GB", 0)
