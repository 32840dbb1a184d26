"""Instances a page at a time: where each is claimed, named and allocated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest

from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.model.rows import ClaimRow, InstanceRow
from gantt.placement.fleet_queries import claim_project
from gantt.state.state import State


def known_instances(state: State, query: InstanceQuery) -> tuple[InstanceView, ...]:
    """By uuid. One that only has allocations is found by its uuid alone: consumers may
    be anything. The state is held: a page costs as many views as it has, or as one host
    or claim."""
    if query.uuid is not None:
        one = _view(state, query.uuid)
        is_after = query.marker is None or query.uuid > query.marker
        return (one,) if one is not None and is_after and _fits(one, query) else ()
    later = (
        uuid
        for uuid in _meant(state, query)
        if query.marker is None or uuid > query.marker
    )
    is_narrow = query.host is not None or query.claim is not None
    uuids = sorted(later) if is_narrow else nsmallest(query.limit, later)
    page: list[InstanceView] = []
    for uuid in uuids:
        view = _view(state, uuid)
        if view is not None and _fits(view, query):
            page.append(view)
            if len(page) == query.limit:
                break
    return tuple(page)


def _meant(state: State, query: InstanceQuery) -> Iterator[str]:
    """The instances among which those asked for are, each once."""
    fleet, claims = state.fleet, state.fleet.claims.by_instance
    claimed: Iterable[str] = claims
    named: Iterable[str] = fleet.instances.by_uuid
    if query.host is not None:
        rows = fleet.hosts.rows_of(query.host)
        ids = [int(fleet.hosts.id[row]) for row in rows]
        claimed = {uuid for one in ids for uuid in fleet.claims.on(one)}
        named = fleet.instances.on(query.host)
    if query.claim is not None:
        claimed = {row.instance_uuid for row in fleet.claims.of(query.claim)}
    found = {uuid for uuid in claimed if not claims[uuid].held_by}
    yield from found
    if query.claim is None and not query.is_claimed:
        yield from (uuid for uuid in named if uuid not in found)


def _fits(view: InstanceView, query: InstanceQuery) -> bool:
    return (
        query.host in (None, view.host)
        and query.claim in (None, view.claim)
        and (view.claim is not None or not query.is_claimed)
    )


def _view(state: State, uuid: str) -> InstanceView | None:
    claim = state.fleet.claims.by_instance.get(uuid)
    named = state.fleet.instances.by_uuid.get(uuid)
    consumer = state.consumers.find(uuid)
    if claim is None and named is None and consumer is None:
        return None
    project = None if claim is None else claim_project(state, claim)
    if consumer is not None:
        project = state.projects.name_of_id(consumer.project_id)
    return InstanceView(
        uuid,
        _state(claim, named),
        _host(state, claim, named),
        project,
        None if claim is None else claim.claim,
        None if claim is None else claim.leased_until,
        {} if consumer is None else _allocations(state, uuid),
    )


def _state(claim: ClaimRow | None, named: InstanceRow | None) -> str:
    if claim is not None and claim.is_over:
        return "over"
    if claim is not None and not claim.is_running:
        return "claimed" if claim.leased_until is None else "leased"
    return "allocated" if claim is None and named is None else "named"


def _host(
    state: State, claim: ClaimRow | None, named: InstanceRow | None
) -> str | None:
    hosts = state.fleet.hosts
    row = None if claim is None else hosts.row_by_id.get(claim.host_id)
    if row is not None:
        return hosts.hosts[row]
    return None if named is None else named.host


def _allocations(state: State, uuid: str) -> dict[str, dict[str, int]]:
    table, found = state.allocations, dict[str, dict[str, int]]()
    for row in table.by_consumer.rows_of(state.consumers.row_by_uuid[uuid]):
        provider = state.providers.uuids[int(table.provider[row])]
        name = state.classes.at(int(table.class_index[row])).name
        found.setdefault(provider, {})[name] = int(table.used[row])
    return found
