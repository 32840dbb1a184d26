"""Services, server groups and aggregates of hosts, a page at a time."""

from __future__ import annotations

import msgspec

from gantt.errors import Invalid
from gantt.model.fleet_lists import GroupQuery, HostAggregateQuery, ServiceQuery
from gantt.model.hosts import HostAggregate, ServerGroup, Service
from gantt.model.rows import ServerGroupRow, ServiceRow
from gantt.state.state import State

_ZONE = "availability_zone"


def services(state: State, query: ServiceQuery) -> tuple[Service, ...]:
    """Raises Invalid for a marker of another form."""
    after = None if query.marker is None else _place(query.marker)
    places = sorted(
        place
        for place in state.fleet.services.by_place
        if query.host in (None, place[0])
        and query.binary in (None, place[1])
        and (after is None or place > after)
    )
    known = state.fleet.services.by_place
    return tuple(_service(known[place]) for place in places[: query.limit])


def _place(marker: str) -> tuple[str, str]:
    binary, at, host = marker.partition("@")
    if not at:
        raise Invalid(
            f"marker is {marker!r}; it must be BINARY@HOST of the last service of the "
            "page before, such as nova-compute@host1."
        )
    return host, binary


def _service(row: ServiceRow) -> Service:
    return Service(
        row.host,
        row.binary,
        row.disabled,
        row.forced_down,
        row.last_seen_up,
        row.availability_zone,
        row.cell_uuid,
        row.version,
        row.disabled_reason,
    )


def server_groups(state: State, query: GroupQuery) -> tuple[ServerGroup, ...]:
    """Those that were told of."""
    table = state.fleet.groups
    uuids = sorted(
        uuid
        for uuid in table.by_uuid
        if (query.marker is None or uuid > query.marker)
        and (query.member is None or query.member in table.members[uuid])
    )
    return tuple(_group(table.by_uuid[uuid]) for uuid in uuids[: query.limit])


def _group(row: ServerGroupRow) -> ServerGroup:
    members = frozenset(msgspec.json.decode(row.members, type=list[str]))
    return ServerGroup(row.uuid, row.name, row.policy, row.max_server_per_host, members)


def host_aggregates(
    state: State, query: HostAggregateQuery
) -> tuple[HostAggregate, ...]:
    """Raises Invalid for a marker that is not known."""
    table = state.fleet.aggregates
    found = [
        (row.name, row.uuid)
        for row in table.rows()
        if query.uuid in (None, row.uuid)
        and (query.host is None or query.host in table.hosts[row.uuid])
        and query.zone in (None, table.metadata[row.uuid].get(_ZONE))
    ]
    if query.marker is not None:
        last = table.by_uuid.get(query.marker)
        if last is None:
            raise Invalid(
                f"marker {query.marker} is no aggregate of hosts, or no longer: begin "
                "without a marker."
            )
        found = [one for one in found if one > (last.name, last.uuid)]
    return tuple(_aggregate(state, uuid) for _, uuid in sorted(found)[: query.limit])


def _aggregate(state: State, uuid: str) -> HostAggregate:
    table = state.fleet.aggregates
    row = table.by_uuid[uuid]
    return HostAggregate(
        uuid, row.name, row.number, table.hosts[uuid], dict(table.metadata[uuid])
    )
