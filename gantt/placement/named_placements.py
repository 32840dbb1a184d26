"""Questions about what was placed by name: which plan it answers, and where it is."""

from __future__ import annotations

from collections.abc import Iterable

from gantt.errors import AlreadyClaimed, Conflict, NotFound
from gantt.model.demand import Demand, claim_of_plan, consumer_uuid, names_of
from gantt.model.names import canonical_uuid
from gantt.model.paging import Listed, page_of, read
from gantt.model.placements import PlacedQuery, PlacedView, Placement, Plan
from gantt.model.request_identity import Booked
from gantt.placement.fleet_pages import first, page, slices
from gantt.placement.pause import Pause, never
from gantt.placement.queries import amounts_of
from gantt.state.state import State


def called(state: State, uuid: str) -> Booked | None:
    """What a consumer is called; None: it was not placed by name."""
    fleet = state.fleet
    return fleet.claims.booked.get(uuid) or fleet.instances.booked.get(uuid)


def of_plan(state: State, project: str, plan: str) -> set[str]:
    """The consumers that were placed by a plan, and live."""
    fleet, claim = state.fleet, claim_of_plan(project, plan)
    found = {row.instance_uuid for row in fleet.claims.of(claim) if not row.held_by}
    return found.union(fleet.instances.of_plan(project, plan))


def has_plan(state: State, booked: Booked) -> bool:
    """Whether something that was placed by its plan lives."""
    return bool(of_plan(state, booked.project, booked.plan))


def check_free(state: State, name: str, uuid: str) -> None:
    """Raises AlreadyClaimed where something of this name is placed or runs."""
    fleet = state.fleet
    is_known = uuid in fleet.claims.by_instance or uuid in fleet.instances.by_uuid
    if not is_known and state.consumers.row_by_uuid.get(uuid) is None:
        return
    where = ", ".join(sorted(fleet.hosts_of(uuid)))
    known = called(state, uuid)
    plan = f" by the plan {known.plan!r}" if known is not None and known.plan else ""
    raise AlreadyClaimed(
        f"{name!r} is placed already{f' on {where}' if where else ''}{plan}. Nothing "
        "was placed. Release it first and end what runs of it, or choose another name."
    )


def known_plan(state: State, demand: Demand) -> Plan | None:
    """The answer that a demand had before; None: its plan is new. Raises Conflict:
    another demand has that name, or some of what was placed is released."""
    project = demand.project or ""
    uuids = of_plan(state, project, demand.plan) if demand.plan else set[str]()
    if not uuids:
        return None
    digests = {one.digest for uuid in uuids if (one := called(state, uuid))}
    if digests != {demand.digest}:
        raise Conflict(
            f"The plan {demand.plan!r} was placed for another demand. Nothing was "
            "placed. Release it first, or choose another name for this one."
        )
    found: list[PlacedView] = []
    for name in names_of(demand.items):
        uuid = demand.uuid(name)
        view = _view(state, uuid)
        if uuid not in uuids or view is None:
            raise Conflict(
                f"The plan {demand.plan!r} was placed before, and {name!r} of it is "
                "there no longer. Nothing was placed. Release what is left of the "
                "plan, or choose another name for this one."
            )
        found.append(view)
    return Plan(
        tuple(map(_bare, found)),
        demand.plan,
        claim_of_plan(project, demand.plan),
        next((one.leased_until for one in found if one.leased_until), None),
    )


def _bare(one: PlacedView) -> Placement:
    return Placement(one.name, one.host, one.node, one.item, one.uuid, one.allocations)


def placements(
    state: State, query: PlacedQuery, rest: Pause = never
) -> Listed[PlacedView]:
    """What was placed by name, by uuid. Raises Invalid for a place of another form."""
    after: str = read(query.after, tuple[str])[0] if query.after else ""

    def is_meant(uuid: str) -> bool:
        known = called(state, uuid)
        return (
            uuid > after
            and known is not None
            and query.project in (None, known.project)
            and query.plan in (None, known.plan)
            and query.name in (None, known.name, uuid)
        )

    def show(place: tuple[str]) -> PlacedView | None:
        return _view(state, place[0])

    left = _left(state, query)
    if left is not None:
        return page_of([(left.uuid,)], query.limit, lambda _: left)
    narrow = _narrow(state, query)
    if narrow is not None:
        places = [(uuid,) for uuid in sorted(filter(is_meant, narrow))]
        return page_of(places, query.limit, show)
    every = [*state.fleet.claims.booked, *state.fleet.instances.booked]
    found = first(slices(every), query.limit + 1, is_meant, rest)
    return page([(uuid,) for uuid in found], query.limit, show)


def _narrow(state: State, query: PlacedQuery) -> Iterable[str] | None:
    """Few consumers among which those that are asked for are; None: they may be
    any."""
    if query.plan and query.project is not None:
        return of_plan(state, query.project, query.plan)
    if query.name is not None and query.project is not None:
        return (consumer_uuid(query.project, query.name),)
    return None


def _left(state: State, query: PlacedQuery) -> PlacedView | None:
    """What is asked for by name and has ended on its host, where only what it took
    tells of it; None: it is not so."""
    name, project = query.name, query.project or ""
    if name is None or query.plan is not None or canonical_uuid(name) is not None:
        return None
    uuid = consumer_uuid(project, name)
    taken = amounts_of(state, uuid)
    if not taken or called(state, uuid) is not None:
        return None
    providers, hosts = state.providers, state.fleet.hosts
    roots = {int(providers.root[providers.row_of(one) or 0]) for one in taken}
    rows = [row for root in roots for row in hosts.rows_by_provider.get(root, ())]
    host, node = (hosts.hosts[rows[0]], hosts.nodes[rows[0]]) if rows else ("", "")
    return PlacedView(name, host, node, name, uuid, taken, "", project, "ended")


def meant(state: State, name: str, plan: str, project: str) -> tuple[str, ...]:
    """The consumers that a caller names, by their own name or that of their plan.
    Raises NotFound."""
    if plan:
        uuids = of_plan(state, project, plan)
        if not uuids:
            raise NotFound(f"Nothing is placed by a plan {plan!r}.")
        return tuple(sorted(uuids))
    uuid = consumer_uuid(project, name)
    fleet = state.fleet
    if uuid in fleet.claims.by_instance or state.consumers.find(uuid) is not None:
        return (uuid,)
    raise NotFound(f"Nothing that is called {name!r} is placed.")


def claims_of(state: State, name: str, plan: str, project: str) -> set[str]:
    """The claims that stand for what a caller names, as far as it has any yet. Raises
    NotFound."""
    table = state.fleet.claims.by_instance
    uuids = meant(state, name, plan, project)
    return {table[uuid].claim for uuid in uuids if uuid in table}


def _view(state: State, uuid: str) -> PlacedView | None:
    fleet, known = state.fleet, called(state, uuid)
    if known is None:
        return None
    claim, named = fleet.claims.by_instance.get(uuid), fleet.instances.by_uuid.get(uuid)
    hosts = fleet.hosts
    row = None if claim is None else hosts.row_by_id.get(claim.host_id)
    host = node = "" if named is None else named.host
    if row is not None:
        host, node = hosts.hosts[row], hosts.nodes[row]
    elif len(rows := hosts.rows_of(host)) == 1:
        node = hosts.nodes[rows[0]]
    leased_until = None if claim is None else claim.leased_until
    placed = "placed" if leased_until is None else "leased"
    return PlacedView(
        known.name,
        host,
        node,
        known.item,
        uuid,
        amounts_of(state, uuid),
        known.plan,
        known.project,
        placed if named is None else "running",
        leased_until,
    )
