"""Questions about what was placed by name: which plan it answers, and where it is."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from gantt.errors import AlreadyClaimed, Conflict, NotFound
from gantt.model.demand import Demand, consumer_uuid, names_of
from gantt.model.paging import Listed, page_of, read
from gantt.model.placements import PlacedQuery, PlacedView, Placement, Plan
from gantt.model.request_identity import Booked
from gantt.model.rows import BookingRow
from gantt.placement.fleet_pages import first, page, slices
from gantt.placement.pause import Pause, never
from gantt.placement.queries import amounts_of
from gantt.state.state import State


def called(state: State, uuid: str) -> BookingRow | None:
    """What a consumer is called; None: it was not placed by name."""
    return state.fleet.claims.booked.get(uuid)


def of_plan(state: State, project: str, plan: str) -> set[str]:
    """The consumers that were placed by a plan, and live."""
    return set(state.fleet.claims.of_plan(project, plan))


def has_plan(state: State, booked: Booked) -> bool:
    """Whether a plan of this name was placed, and is remembered."""
    return (booked.project, booked.plan) in state.fleet.claims.plans


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
    another demand has that name."""
    claims, project = state.fleet.claims, demand.project or ""
    row = claims.plans.get((project, demand.plan)) if demand.plan else None
    if row is None:
        return None
    if row.digest != demand.digest:
        raise Conflict(
            f"The plan {demand.plan!r} was placed for another demand. Nothing was "
            "placed. Choose another name for this one."
        )
    known = msgspec.json.decode(row.answered or "", type=Plan)
    lives = of_plan(state, project, demand.plan)
    leases = [one.leased_until for one in claims.of(known.claim or "") if one.name]
    return replace(
        known,
        leased_until=next(filter(None, leases), None),
        ended=tuple(one.name for one in known.placements if one.uuid not in lives),
    )


def placed_plan(state: State, demand: Demand, claim: str) -> Plan:
    """What was placed for a demand by a claim, as far as it is there still."""
    table, found, ended = state.fleet.claims.by_instance, [], list[str]()
    for name in names_of(demand.items):
        uuid = demand.uuid(name)
        its, view = table.get(uuid), _view(state, uuid)
        # Another demand may have given the name since; one of no plan by a new claim.
        is_others = not demand.plan and its is not None and its.claim != claim
        if view is None or view.plan != demand.plan or is_others:
            ended.append(name)
        else:
            found.append(view)
    leased_until = next((one.leased_until for one in found if one.leased_until), None)
    bare = (
        Placement(one.name, one.host, one.node, one.item, one.uuid, one.allocations)
        for one in found
    )
    return Plan(tuple(bare), demand.plan, claim, leased_until, tuple(ended))


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

    narrow = _narrow(state, query)
    if narrow is not None:
        places = [(uuid,) for uuid in sorted(filter(is_meant, narrow))]
        return page_of(places, query.limit, show)
    found = first(slices(state.fleet.claims.booked), query.limit + 1, is_meant, rest)
    return page([(uuid,) for uuid in found], query.limit, show)


def _narrow(state: State, query: PlacedQuery) -> Iterable[str] | None:
    """Few consumers among which those that are asked for are; None: they may be
    any."""
    if query.plan and query.project is not None:
        return of_plan(state, query.project, query.plan)
    if query.name is not None and query.project is not None:
        return (consumer_uuid(query.project, query.name),)
    return None


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
    taken = amounts_of(state, uuid)
    if claim is None and named is None:
        host, node = _where(state, taken)
    leased_until = None if claim is None else claim.leased_until
    return PlacedView(
        known.name,
        host,
        node,
        known.item,
        uuid,
        taken,
        known.plan,
        known.project,
        _state(claim, is_named=named is not None),
        leased_until,
    )


def _state(claim: BookingRow | None, *, is_named: bool) -> str:
    if is_named:
        return "running"
    if claim is None:
        return "ended"
    return "placed" if claim.leased_until is None else "leased"


def _where(state: State, taken: Iterable[str]) -> tuple[str, str]:
    """Host and node of these providers, of which only allocations tell."""
    providers, hosts = state.providers, state.fleet.hosts
    roots = {int(providers.root[providers.row_of(one) or 0]) for one in taken}
    rows = [row for root in roots for row in hosts.rows_by_provider.get(root, ())]
    return (hosts.hosts[rows[0]], hosts.nodes[rows[0]]) if rows else ("", "")
