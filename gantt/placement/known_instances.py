"""Instances a page at a time: where each is claimed, named and allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.model.names import canonical, canonical_uuid, spellings
from gantt.model.paging import Listed, page_of
from gantt.model.rows import BookingRow, InstanceRow
from gantt.placement.fleet_pages import after_uuid, first, page, slices
from gantt.placement.fleet_queries import claim_project
from gantt.placement.pause import Pause, never
from gantt.placement.queries import amounts_of
from gantt.state.allocation_columns import NO_ID
from gantt.state.state import State


def known_instances(
    state: State, query: InstanceQuery, rest: Pause = never
) -> Listed[InstanceView]:
    """By uuid. One that only has allocations is found by its uuid, or where instances
    are searched or asked for by project: consumers may be anything. Between ``rest``
    the state is held: a page costs as many views as it has, or as one host or claim.
    Raises Invalid for a place of another form."""
    claims, named = state.fleet.claims.by_instance, state.fleet.instances.by_uuid
    has_all = query.claim is None and not query.is_claimed
    has_others = has_all and bool(query.search or query.project_id)
    fits = _condition(state, query)
    # Whether there is another's must not show.
    after = after_uuid(query, lambda one: (one in claims or one in named) and fits(one))

    def is_meant(uuid: str) -> bool:
        if after is not None and uuid <= after:
            return False
        claim = claims.get(uuid)
        is_claimed = claim is not None and not claim.held_by
        return (is_claimed or has_others or (has_all and uuid in named)) and fits(uuid)

    def show(place: tuple[str]) -> InstanceView | None:
        view = _view(state, place[0])
        if view is None or not _fits(view, query):
            return None
        return view if query.names else replace(view, name=None)

    if query.uuid is not None:
        known = (one for one in spellings(query.uuid) if _view(state, one) is not None)
        found = next(known, None)
        is_later = found is not None and (after is None or found > after)
        some = [(found,)] if found and is_later and fits(found) else []
        return page_of(some, query.limit, show)
    if query.host is not None or query.claim is not None:
        narrow = sorted(filter(is_meant, _of_place(state, query)))
        return page_of([(uuid,) for uuid in narrow], query.limit, show)
    every = _uuids(state, has_all, has_others)
    return page(
        [(uuid,) for uuid in first(every, query.limit + 1, is_meant, rest)],
        query.limit,
        show,
    )


def names_of(
    state: State, uuids: Iterable[str], project: str | None = None
) -> dict[str, str]:
    """Uuid -> name, of those whose name is known; ``project``: of its own alone."""
    only = _spelled(project or "")
    meant = (uuid for uuid in uuids if project is None or _project(state, uuid) in only)
    return state.fleet.instances.names(meant)


def _uuids(state: State, has_all: bool, has_others: bool) -> Iterator[list[str]]:
    """A slice at a time: others may write in between."""
    yield from slices(state.fleet.claims.by_instance)
    if has_all:
        yield from slices(state.fleet.instances.by_uuid)
    if has_others:
        for some in slices(state.consumers.uuids):
            yield [uuid for uuid in some if uuid]


def _condition(state: State, query: InstanceQuery) -> Callable[[str], bool]:
    """Whether an instance is what is searched, and of the project."""
    part = canonical((query.search or "").strip()).casefold()
    has_names = query.names
    owners, only = _spelled(part), _spelled(query.project_id or "")
    whose = state.fleet.instances.whose

    def is_found(uuid: str) -> bool:
        if part in uuid:
            return True
        if has_names and part in (whose(uuid).name or "").casefold():
            return True
        return _project(state, uuid) in owners

    def fits(uuid: str) -> bool:
        if query.project_id is not None and _project(state, uuid) not in only:
            return False
        return not part or is_found(uuid)

    return fits


def _spelled(project: str) -> set[str]:
    """How a project may be written in the books: Keystone's have no hyphens."""
    found = canonical_uuid(project)
    return {project} if found is None else {project, found, found.replace("-", "")}


def _project(state: State, uuid: str) -> str | None:
    """Whose an instance is: as the books say, else its claim, else Nova."""
    table = state.consumers
    row = table.row_by_uuid.get(uuid)
    if row is not None and table.id[row] != NO_ID:
        return state.projects.name_of_id(int(table.project_id[row]))
    claim = state.fleet.claims.by_instance.get(uuid)
    found = None if claim is None else claim_project(state, claim)
    return found or state.fleet.instances.whose(uuid).project


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
    host, node = _host(state, claim, named)
    return InstanceView(
        uuid,
        _state(claim, named),
        host,
        _project(state, uuid),
        None if claim is None else claim.claim,
        None if claim is None else claim.leased_until,
        {} if consumer is None else amounts_of(state, uuid),
        node,
        state.fleet.instances.whose(uuid).name,
    )


def _state(claim: BookingRow | None, named: InstanceRow | None) -> str:
    if claim is not None and claim.is_over:
        return "over"
    if claim is not None and not claim.is_running:
        return "claimed" if claim.leased_until is None else "leased"
    return "allocated" if claim is None and named is None else "named"


def _host(
    state: State, claim: BookingRow | None, named: InstanceRow | None
) -> tuple[str | None, str | None]:
    """Its host, and which node of that, as far as they are known."""
    hosts = state.fleet.hosts
    row = None if claim is None else hosts.row_by_id.get(claim.host_id)
    if row is None and named is not None:
        rows = hosts.rows_of(named.host)
        if len(rows) != 1:
            return named.host, None
        row = rows[0]
    return (None, None) if row is None else (hosts.hosts[row], hosts.nodes[row])
