"""What of a statement about a fleet is not known yet, and what it no longer names.

Cheap questions before commands: each is no more than a hint, and the rule of the
command decides again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct

from gantt.model.commands import SetMoves, UpdateHost
from gantt.model.facts import SERVICES_ALONE, kind_of
from gantt.model.fleet import CELL, FleetNames
from gantt.model.hosts import HostAggregate, Instance, ServerGroup, Service
from gantt.model.names import canonical
from gantt.placement.host_moves import names_of, noted
from gantt.placement.rules import leases
from gantt.placement.rules.host_reports import has_news
from gantt.placement.rules.instances import told
from gantt.state.fleet_tables import COMPUTE
from gantt.state.state import State


class FleetDeletions(Struct, frozen=True):
    """What a statement of all names does not name. ``hosts``: (host, node);
    ``services``: (host, binary); ``hosts_of_instances``: service hosts that still have
    instances."""

    hosts: tuple[tuple[str, str], ...]
    services: tuple[tuple[str, str], ...]
    aggregates: tuple[str, ...]
    groups: tuple[str, ...]
    hosts_of_instances: tuple[str, ...]


def hosts(state: State, said: Sequence[UpdateHost]) -> list[UpdateHost]:
    """The reports that differ from the last ones."""
    return [one for one in said if one.writes_books or has_news(state, one)]


def services(state: State, said: Sequence[Service]) -> list[Service]:
    """Those with a value that is not known."""
    found = []
    for one in said:
        known = state.fleet.told(one.host, one.binary)
        is_fact = kind_of(one.host, one.binary) is not None
        names = one.__struct_fields__
        if known is None or any(
            getattr(one, name) not in (UNSET, getattr(known, name))
            for name in names
            if not (is_fact and name in SERVICES_ALONE)
        ):
            found.append(one)
    return found


def aggregates(state: State, said: Sequence[HostAggregate]) -> list[HostAggregate]:
    """Those that are not known as they are."""
    table = state.fleet.aggregates
    found = []
    for one in said:
        row = table.by_uuid.get(one.uuid)
        if row is None or (
            (row.name, row.number) != (one.name, one.id)
            or table.hosts[one.uuid] != one.hosts
            or table.metadata[one.uuid] != one.metadata
        ):
            found.append(one)
    return found


def groups(state: State, said: Sequence[ServerGroup]) -> list[ServerGroup]:
    """Those that are not known as they are."""
    table = state.fleet.groups
    found = []
    for one in said:
        row = table.by_uuid.get(one.uuid)
        told = one.name, one.policy, one.max_server_per_host
        if (
            row is None
            or (row.name, row.policy, row.max_server_per_host) != told
            or table.members[one.uuid] != one.members
        ):
            found.append(one)
    return found


def instances(state: State, said: Sequence[Instance], host: str) -> list[Instance]:
    """Those that ``host`` is not known to have, or with other facts, and those that it
    is still promised; what is no text is none that is known."""
    known = state.fleet.instances.on(host)
    found = []
    for one in said:
        uuid: object = one.uuid
        row = known.get(uuid) if isinstance(uuid, str) else None
        if row is None or (one.facts and told(row, one.facts) != told(row, {})):
            found.append(one)
            continue
        claim = leases.promised(state, host, one.uuid)
        if claim is not None and not claim.is_running:
            found.append(one)
    return found


def lists(
    state: State, said: Iterable[tuple[str, tuple[str, ...]]]
) -> list[tuple[str, tuple[str, ...]]]:
    """Pairs (host, uuids of all its instances): those hosts' that are known
    otherwise."""
    on = state.fleet.instances.on
    return [(host, uuids) for host, uuids in said if on(host).keys() != set(uuids)]


def moves(state: State, said: Sequence[SetMoves]) -> list[SetMoves]:
    """Those that are not known as they are."""
    hosts = state.fleet.hosts

    def is_news(one: SetMoves) -> bool:
        names, now = names_of(one.moves), 0
        rows = hosts.rows_of(one.host)
        return any(noted(state, row, names, now) is not None for row in rows)

    return [one for one in said if is_news(one)]


def gone(state: State, names: FleetNames) -> FleetDeletions:
    """What is known and not named; of cells that were not read nothing is gone."""
    fleet = state.fleet
    kept = {
        service.host
        for service in fleet.services.rows()
        if service.binary == COMPUTE
        and canonical(service.cell_uuid or "") in names.kept_cells
    }
    cells = names.cells | names.kept_cells
    places = [
        (fleet.hosts.hosts[row], fleet.hosts.nodes[row])
        for row in fleet.hosts.live_rows().tolist()
    ]
    there = kept | {host for host, _ in names.hosts}
    there |= {host for host, _ in names.services}
    return FleetDeletions(
        tuple(
            place
            for place in places
            if place not in names.hosts and place[0] not in kept
        ),
        tuple(
            (row.host, COMPUTE)
            for row in fleet.services.rows()
            if row.binary == COMPUTE
            and row.host not in kept
            and (row.host, COMPUTE) not in names.services
        )
        + tuple(
            (row.subject, CELL)
            for row in fleet.facts.of_kind("cell")
            if row.subject not in cells
        ),
        tuple(
            uuid for uuid in fleet.aggregates.by_uuid if uuid not in names.aggregates
        ),
        tuple(uuid for uuid in fleet.groups.by_uuid if uuid not in names.groups),
        tuple(host for host in fleet.instances.hosts() if host not in there),
    )
