"""Questions about demands that wait for room: their place, and what became of them."""

from __future__ import annotations

from gantt.errors import NotFound
from gantt.model.demand import names_of
from gantt.model.demand_queue import DemandsQuery, DemandView
from gantt.model.paging import Listed, page_of, read
from gantt.placement import named_placements
from gantt.state.state import State
from gantt.state.waiting_demands import QueuedDemand


def waiting(state: State, uuid: str) -> QueuedDemand | None:
    """One that waits; None: it does not."""
    found = state.fleet.facts.queue.by_uuid.get(uuid)
    return found if found is not None and found.is_waiting else None


def demand(state: State, uuid: str) -> DemandView:
    """Raises NotFound."""
    queue = state.fleet.facts.queue
    one = queue.by_uuid.get(uuid)
    if one is None:
        raise NotFound(
            f"There is no demand {uuid}: it never waited, or ended more than an hour "
            "ago. 'gantt demand list' shows those that wait."
        )
    place = sum(other.rank <= one.rank for other in queue.in_order())
    return _view(state, one, place if one.is_waiting else 0)


def demands(state: State, query: DemandsQuery) -> Listed[DemandView]:
    """Those that wait in their order, then those that ended, by uuid. Raises Invalid
    for a place of another form."""
    queue = state.fleet.facts.queue
    after: tuple[int, str] = (0, "")
    if query.after:
        after = read(query.after, tuple[int, str])
    order = [(n, one) for n, one in enumerate(queue.in_order(), start=1)]
    ended = sorted(queue.ended(), key=lambda one: one.uuid)
    places = {one.uuid: (n, one.uuid) for n, one in order}
    places |= {one.uuid: (len(order) + 1, one.uuid) for one in ended}

    def is_meant(one: QueuedDemand) -> bool:
        project = one.entry.demand.project or ""
        is_after = not query.after or places[one.uuid] > after
        is_state = query.state in (None, one.entry.state)
        return is_after and is_state and query.project in (None, project)

    every = [one for _, one in order] + ended
    found = [places[one.uuid] for one in every if is_meant(one)]

    def show(place: tuple[int, str]) -> DemandView | None:
        one = queue.by_uuid[place[1]]
        return _view(state, one, place[0] if one.is_waiting else 0)

    return page_of(found, query.limit, show)


def _view(state: State, one: QueuedDemand, place: int) -> DemandView:
    asked, entry = one.entry.demand, one.entry
    placed = None
    if entry.state == "placed":
        placed = named_placements.placed_plan(state, asked, entry.claim)
    said = (entry.said,) if entry.said else ()
    if place > 1:
        said = (f"{place - 1} come before it.",)
    return DemandView(
        one.uuid,
        entry.state,
        tuple(names_of(asked.items)),
        asked.priority,
        asked.plan,
        asked.project or "",
        one.row.created_at or 0,
        one.until,
        place,
        said,
        placed,
    )
