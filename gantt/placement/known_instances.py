"""Instances a page at a time: where each is claimed, named and allocated."""

from __future__ import annotations

from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.model.names import canonical, spellings
from gantt.model.paging import Listed, page_of
from gantt.model.rows import ClaimRow, InstanceRow
from gantt.placement.fleet_pages import after_uuid, first, page
from gantt.placement.fleet_queries import claim_project
from gantt.placement.pause import Pause, never
from gantt.placement.queries import amounts_of
from gantt.state.state import State


def known_instances(
    state: State, query: InstanceQuery, rest: Pause = never
) -> Listed[InstanceView]:
    """By uuid. One that only has allocations is found by its uuid alone: consumers may
    be anything. Between ``rest`` the state is held: a page costs as many views as it
    has, or as one host or claim. Raises Invalid for a place of another form."""
    claims, named = state.fleet.claims.by_instance, state.fleet.instances.by_uuid
    after = after_uuid(query, lambda uuid: uuid in claims or uuid in named)

    def is_meant(uuid: str) -> bool:
        if after is not None and uuid <= after:
            return False
        claim = claims.get(uuid)
        is_claimed = claim is not None and not claim.held_by
        has_all = query.claim is None and not query.is_claimed
        return is_claimed or (has_all and uuid in named)

    def show(place: tuple[str]) -> InstanceView | None:
        view = _view(state, place[0])
        return view if view is not None and _fits(view, query) else None

    if query.uuid is not None:
        known = (one for one in spellings(query.uuid) if _view(state, one) is not None)
        found = next(known, None)
        is_later = found is not None and (after is None or found > after)
        return page_of([(found,)] if found and is_later else [], query.limit, show)
    if query.host is not None or query.claim is not None:
        narrow = sorted(filter(is_meant, _of_place(state, query)))
        return page_of([(uuid,) for uuid in narrow], query.limit, show)
    every = [*claims, *(() if query.is_claimed else named)]
    return page(
        [(uuid,) for uuid in first(every, query.limit + 1, is_meant, rest)],
        query.limit,
        show,
    )


def _of_place(state: State, query: InstanceQuery) -> set[str]:
    """The instances of a host or of a claim, and perhaps more."""
    fleet = state.fleet
    if query.claim is not None:
        return {row.instance_uuid for row in fleet.claims.of(canonical(query.claim))}
    host = query.host or ""
    ids = [int(fleet.hosts.id[row]) for row in fleet.hosts.rows_of(host)]
    claimed = {uuid for one in ids for uuid in fleet.claims.on(one)}
    return claimed.union(fleet.instances.on(host))


def _fits(view: InstanceView, query: InstanceQuery) -> bool:
    return (
        query.host in (None, view.host)
        and (query.claim is None or canonical(query.claim) == view.claim)
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
        {} if consumer is None else amounts_of(state, uuid),
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
