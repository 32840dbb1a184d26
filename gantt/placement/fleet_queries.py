"""Questions about the fleet: hosts and aggregates of hosts, as answers.

Beside the questions about the books, because Placement's API asks none of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from gantt.model.fleet import LIVENESS
from gantt.model.holding import read_holding
from gantt.model.hosts import HostPage, HostPlace, HostView
from gantt.model.paging import page_of
from gantt.model.rows import BookingRow, FactRow, HostRow, ServiceRow
from gantt.state.column import NO_ROW
from gantt.state.fleet_columns import Fleet
from gantt.state.fleet_tables import COMPUTE
from gantt.state.report_decoder import (
    LISTED,
    MOVING,
    OWNED,
    RATIOS,
    TOPOLOGY,
    said_ratios,
)
from gantt.state.state import State

SAVED: Final = "_saved_at"
"""Kept by rules within the stats of a host: when the host saved the last report, where
that was told."""
PLACE: Final = "_report"
"""Beside it: which report of an agent was applied last, a ``ReportPlace``."""
LISTING: Final = "_listing"
"""Beside it: when that list was made, see ``listings``; absent: it is not whole."""
ADOPTED: Final = "_adopted"
"""Beside it: the uuid by which the host calls its provider, which has another one."""
UNREADABLE: Final = "_unreadable"
"""Beside it: columns of cells and devices that could not be read, and why."""
MOVES: Final = "_moves"
"""Beside it: since when it is told what moves from or to it, and what has ended, see
``moves``; absent: it is not told."""
MISSING: Final = "_missing"
"""Beside it: since when an instance that has something there is not named there any
more, by its cell; uuid -> microseconds."""
_HIDDEN: Final = (
    OWNED,
    SAVED,
    PLACE,
    LISTED,
    LISTING,
    ADOPTED,
    UNREADABLE,
    RATIOS,
    MOVING,
    MOVES,
    MISSING,
)


def host_page(
    state: State,
    after: HostPlace,
    limit: int,
    host: str | None = None,
    node: str | None = None,
) -> HostPage:
    """The first hosts by name, then node, beyond a place; those of one service host or
    of one node name."""
    table = state.fleet.hosts
    if host is None and node is None:
        places = table.by_place.after(after, limit + 1)
    else:
        known = list(table.by_place)
        if host is not None:
            known = [(host, table.nodes[row]) for row in table.rows_of(host)]
        places = sorted(
            place for place in known if node in (None, place[1]) and place > after
        )

    def show(place: HostPlace) -> HostView | None:
        row = table.row_of(*place)
        return None if row is None else host_at(state, row)

    return HostPage(*page_of(places, limit, show))


def claim_projects(state: State, claim: str) -> frozenset[str | None]:
    """Whose the instances of a claim are that has not ended; None: not known, because
    the claim made no allocations."""
    return frozenset(
        claim_project(state, row)
        for row in state.fleet.claims.of(claim)
        if not row.is_over
    )


def claim_project(state: State, row: BookingRow) -> str | None:
    """Whose the instance of one row of a claim is; None: not known."""
    if row.remote is not None:
        return read_holding(row.remote).project_id
    holder = row.held_by
    if holder is None and row.consumer_generation is None:
        return None
    consumer = state.consumers.find(holder or row.instance_uuid)
    return None if consumer is None else state.projects.name_of_id(consumer.project_id)


def arrival_name(instance_uuid: str, at: int | None) -> str:
    """The name of the claim of an instance that another program placed, made ``at``: by
    it such a claim is known."""
    return str(uuid5(NAMESPACE_OID, f"{instance_uuid}/{at}"))


def is_arrival(row: BookingRow) -> bool:
    """Whether it stands for allocations that another program wrote, and made none."""
    return row.claim == arrival_name(row.instance_uuid, row.created_at)


def is_changed(state: State, row: BookingRow) -> bool:
    """Whether another writer changed the allocations that the claim made, so that it is
    not known any more which of them are its own."""
    if row.remote is not None or row.consumer_generation is None:
        return False
    consumer = state.consumers.find(row.instance_uuid)
    if consumer is None or consumer.generation == row.consumer_generation:
        return False
    return not is_arrival(row)


def host_at(state: State, row: int) -> HostView:
    table = state.fleet.hosts
    claimed = {
        "vcpus": int(table.claimed_vcpus[row]),
        "memory_mb": int(table.claimed_memory_mb[row]),
        "disk_mb": int(table.claimed_disk_mb[row]),
        "instances": int(table.claimed_instances[row]),
    }
    # Of a host that wrote no books the provider is elsewhere, not gone.
    is_there = table.provider[row] != NO_ROW or OWNED not in table.stats[row]
    uuid = table.uuids[row] if is_there else None
    created_at, updated_at = table.dates(row)
    place = table.hosts[row], table.nodes[row]
    changed_at = updated_at or created_at
    return _view(state.fleet, place, uuid, table.stats[row], claimed, changed_at)


def host_to_be(
    state: State,
    row: HostRow,
    stats: dict[str, Any],
    ended: list[BookingRow],
    named: tuple[str, ...],
    back: Iterable[BookingRow] = (),
) -> HostView:
    """The host as it will be when ``row`` is written, claims on it have ended or come
    ``back``, and it has named these instances; ``stats``: those of ``row``."""
    claimed = {"vcpus": 0, "memory_mb": 0, "disk_mb": 0, "instances": 0}
    known = state.fleet.claims.by_instance
    here = map(known.__getitem__, state.fleet.claims.on(row.id))
    for claim in (*here, *back):
        if claim not in ended:
            claimed["vcpus"] += claim.vcpus
            claimed["memory_mb"] += claim.memory_mb
            claimed["disk_mb"] += claim.disk_mb
            claimed["instances"] += not claim.is_reported
    place = row.host, row.node
    updated_at = row.created_at if row.updated_at is None else row.updated_at
    return _view(state.fleet, place, row.uuid, stats, claimed, updated_at, named)


def reported_at(state: State, row: int) -> int:
    """When the last report of the host at ``row`` was saved, or came where that was not
    told, in microseconds."""
    created_at, updated_at = state.fleet.hosts.dates(row)
    saved_at: int | None = state.fleet.hosts.stats[row].get(SAVED)
    return saved_at or updated_at or created_at or 0


def is_read_from_nova(stats: dict[str, Any]) -> bool:
    """Whether the feed read the report of the host with these ``stats`` from Nova's
    database: no agent sent it."""
    return SAVED in stats and PLACE not in stats


def has_agents_cells(stats: dict[str, Any]) -> bool:
    """Whether the cells or devices of the host with these ``stats`` are as its agent
    told: that counts what there is, and not what is whose."""
    place = stats.get(PLACE)
    return place is not None and not set(TOPOLOGY).isdisjoint(place["told"])


def _view(
    fleet: Fleet,
    place: tuple[str, str],
    uuid: str | None,
    stats: dict[str, Any],
    claimed: dict[str, int],
    updated_at: int | None,
    named: tuple[str, ...] = (),
) -> HostView:
    host, node = place
    cpu, ram, disk = stats.get(RATIOS) or said_ratios(stats)
    shown = dict(stats)
    for name in _HIDDEN:
        shown.pop(name, None)
    service = _service(fleet, fleet.services.by_place.get((host, COMPUTE)))
    facts = fleet.facts.by_subject
    if (agent := facts.get(("agent", host))) is not None:
        service["agent"] = _membership(fleet, agent)
    if (word := facts.get(("operator", host))) is not None:
        service["operator"] = _word(word)
    return HostView(
        host,
        node,
        uuid,
        shown,
        claimed,
        tuple(sorted({*fleet.instances.on(host), *named})),
        service,
        fleet.aggregates.of_host(host),
        updated_at,
        {"VCPU": cpu, "MEMORY_MB": ram, "DISK_GB": disk},
    )


def _service(fleet: Fleet, row: ServiceRow | None) -> dict[str, Any]:
    if row is None:
        return {}
    cell = fleet.facts.by_subject.get(("cell", row.cell_uuid or ""))
    is_old = cell is not None and cell.away
    return {
        **({"cell_unreadable": True} if is_old else {}),
        "binary": row.binary,
        "disabled": row.disabled,
        "disabled_reason": row.disabled_reason,
        "forced_down": row.forced_down,
        "last_seen_up": row.last_seen_up,
        "availability_zone": row.availability_zone,
        "cell_uuid": row.cell_uuid,
        "version": row.version,
    }


def _word(row: FactRow) -> dict[str, Any]:
    return {
        "disabled": row.disabled,
        "reason": row.reason,
        "since": row.updated_at or row.created_at,
    }


def _membership(fleet: Fleet, row: FactRow) -> dict[str, Any]:
    return {
        "is_member": not row.away,
        "since": row.at,
        "is_frozen": is_frozen(fleet),
    }


def memberships(state: State) -> dict[str, bool]:
    """Host -> whether it is a member of the group of agents, as last known; hosts that
    never were are not in it."""
    return {row.subject: not row.away for row in state.fleet.facts.of_kind("agent")}


def frozen_since(state: State) -> int | None:
    """Since when the members of the group of agents are not known, in microseconds
    since 1970; None: they are, or there is no such group."""
    row = state.fleet.facts.by_subject.get(("liveness", LIVENESS))
    return row.at if row is not None and row.away else None


def is_frozen(fleet: Fleet) -> bool:
    """Whether what is known of members is the last known state."""
    row = fleet.facts.by_subject.get(("liveness", LIVENESS))
    return row is not None and row.away
