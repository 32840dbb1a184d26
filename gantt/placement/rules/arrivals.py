"""Instances that another program placed: they count until their host names them.

Where Gantt is the cloud's Placement, nova-scheduler writes an instance's allocations
here some seconds before a row of the host says anything of it. Meanwhile it stands
beside them as a claim that was confirmed, so that its load, its building and its server
group count at once. It ends as any does; releasing it gives back the allocations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import UNSET

from gantt.model import rows as t
from gantt.model.commands import ConsumerAllocations
from gantt.model.names import canonical_uuid
from gantt.model.rows import ClaimRow
from gantt.placement.fleet_queries import LISTING, SAVED
from gantt.placement.rules import counting
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
    if known is not None and counting.current(draft, known) is not None:
        return
    row = _host_of(state, uuid, said.allocations)
    if row is None:
        return
    sums = _sums(state, said, int(state.fleet.hosts.provider[row]))
    vcpus = sum(sums.get(name, 0) for name in _CPUS)
    if not vcpus and not sums.get("MEMORY_MB"):
        return
    consumer = state.consumers.find(uuid)
    key = draft.new_id(t.CLAIMS)
    found = ClaimRow(
        key,
        str(uuid5(NAMESPACE_OID, f"{uuid}/{key}/{draft.now}")),
        uuid,
        int(state.fleet.hosts.id[row]),
        vcpus,
        sums.get("MEMORY_MB", 0),
        1024 * sums.get("DISK_GB", 0),
        group_uuid=None,
        leased_until=None,
        consumer_generation=1 if consumer is None else consumer.generation + 1,
        remote=None,
        created_at=draft.now,
        updated_at=None,
    )
    draft.change(t.CLAIMS, None, found)


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


def _sums(state: State, said: ConsumerAllocations, provider: int) -> dict[str, int]:
    """By class, in the tree of ``provider``."""
    table, found = state.providers, dict[str, int]()
    for uuid, amounts in said.allocations.items():
        place = table.row_of(uuid)
        if place is not None and table.root[place] == table.root[provider]:
            for name, amount in amounts.items():
                found[name] = found.get(name, 0) + amount
    return found
