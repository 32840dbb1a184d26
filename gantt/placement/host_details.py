"""One host in full, in one answer: its report, tree, consumers, pending claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gantt.errors import NotFound
from gantt.model.names import MAX_INT
from gantt.model.whole_host import (
    ClassUse,
    HostClaim,
    TreeConsumer,
    TreeProvider,
    WholeHost,
)
from gantt.placement.fleet_queries import host_at
from gantt.placement.queries import shares_on
from gantt.placement.topology_answer import host_topology
from gantt.state.column import NO_ROW
from gantt.state.state import State

MOST_CONSUMERS: Final = 1000
"""Consumers of one host that are listed."""


def whole_host(state: State, host: str, node: str, now: int) -> WholeHost:
    """Raises NotFound."""
    table = state.fleet.hosts
    row = table.row_of(host, node)
    if row is None:
        raise NotFound(
            f"There is no host {host} with node {node}: GET /gantt/hosts lists all."
        )
    provider = int(table.provider[row])
    tree = [] if provider == NO_ROW else list(state.providers.tree(provider))
    left = MOST_CONSUMERS
    found, left_out = [], 0
    for one in tree:
        consumers = _consumers(state, one)
        found.append(_provider(state, one, consumers[:left]))
        left_out += max(0, len(consumers) - left)
        left = max(0, left - len(consumers))
    claims = tuple(_claims(state, int(table.id[row])))
    view, topology = host_at(state, row), host_topology(state, host, node)
    uuids = {*view.instances, *(one.instance_uuid for one in claims)}
    uuids.update(one.uuid for part in found for one in part.consumers)
    names = state.fleet.instances.names(sorted(uuids))
    return WholeHost(now, view, topology, tuple(found), claims, left_out, names)


def _provider(state: State, row: int, consumers: list[TreeConsumer]) -> TreeProvider:
    table = state.providers
    parent = int(table.parent[row])
    traits = state.provider_traits.labels_of(row)
    return TreeProvider(
        table.uuids[row],
        table.names[row],
        None if parent == NO_ROW else table.uuids[parent],
        int(table.generation[row]),
        tuple(sorted(state.traits.at(one).name for one in traits)),
        dict(_inventories(state, row)),
        tuple(consumers),
    )


def _inventories(state: State, provider: int) -> Iterator[tuple[str, ClassUse]]:
    for class_index in state.inventories.classes_of(provider):
        place = state.inventories.slot(provider, class_index)
        amounts = state.inventories.amounts_at(provider, class_index)
        if place is not None and amounts is not None:
            (table, slot), (capacity, used) = place, amounts
            yield (
                state.classes.at(class_index).name,
                ClassUse(
                    int(table.total[slot]),
                    int(table.reserved[slot]),
                    float(table.allocation_ratio[slot]),
                    int(min(max(capacity, 0.0), MAX_INT)),
                    used,
                ),
            )


def _consumers(state: State, provider: int) -> list[TreeConsumer]:
    """Those with allocations on a provider, by uuid."""
    amounts = shares_on(state, provider)
    return [_consumer(state, uuid, amounts[uuid]) for uuid in sorted(amounts)]


def _consumer(state: State, uuid: str, resources: dict[str, int]) -> TreeConsumer:
    row = state.consumers.find(uuid)
    if row is None:
        return TreeConsumer(uuid, "", None, resources)
    kind = row.consumer_type_id
    return TreeConsumer(
        uuid,
        state.projects.name_of_id(row.project_id),
        None if kind is None else state.consumer_types.name_of_id(kind),
        resources,
    )


def _claims(state: State, host_id: int) -> Iterator[HostClaim]:
    table = state.fleet.claims
    for uuid in table.on(host_id):
        row = table.by_instance[uuid]
        if not row.is_over:
            yield HostClaim(
                row.claim,
                row.instance_uuid,
                row.vcpus,
                row.memory_mb,
                row.disk_mb,
                row.leased_until,
                row.is_running,
                row.created_at,
            )
