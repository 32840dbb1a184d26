"""Rules for demands that wait: they join the queue, leave it placed, or end.

Whether one may be placed now is judged in the commit that places it: it still waits,
its time is not over, and none of its shape comes before it.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from gantt.errors import Busy, Conflict, NotFound, Queued
from gantt.model import rows as t
from gantt.model.commands import AwaitRoom, Book, EndDemand, SweepDemands
from gantt.model.demand_queue import DemandEntry, DemandState, no_room
from gantt.model.rows import FactRow
from gantt.placement.rules import services
from gantt.placement.rules.draft import Draft
from gantt.state.waiting_demands import QueuedDemand

_TOLD: Final = 10
"""So many times as may wait are remembered that have ended."""


def join(draft: Draft, command: AwaitRoom) -> str:
    """The uuid of the demand, or of the equal one that waits under the name of its
    plan. Raises Busy, Conflict."""
    queue, demand = draft.state.fleet.facts.queue, command.demand
    if demand.plan:
        place = demand.project or "", demand.plan
        if place in draft.state.fleet.claims.plans:
            raise Conflict(f"The plan {demand.plan!r} was placed before.")
        for one in queue.in_order():
            other = one.entry.demand
            if (other.project or "", other.plan) != place or one.until <= draft.clock:
                continue
            if other.digest == demand.digest:
                return one.uuid
            raise Conflict(
                f"Another demand waits under the plan {demand.plan!r}. Cancel it "
                f"('gantt demand cancel {one.uuid}'), or choose another name."
            )
    if len(queue) >= command.most:
        raise Busy(
            f"{len(queue)} demands wait already, which is the limit (max_waiting of "
            "[scheduler]). Nothing was placed. Ask again later, or cancel some."
        )
    if len(queue.by_uuid) - len(queue) >= _TOLD * command.most:
        draft.delete(t.FACTS, next(queue.ended()).row)  # the oldest, mostly
    entry = DemandEntry(demand, command.shape)
    until = draft.clock + int((demand.wait_s or 0.0) * 1_000_000)
    key = services.new_id(draft)
    row = FactRow(
        key, "demand", command.uuid, False, False, until, entry.text, draft.now, None
    )
    draft.change(t.FACTS, None, row)
    return command.uuid


def admit(draft: Draft, command: Book) -> None:
    """A demand is to be placed now. Raises Queued: others come before it; Conflict: it
    waits no more."""
    mine = None
    if command.demand:
        mine = draft.state.fleet.facts.queue.by_uuid.get(command.demand)
        if mine is None or not mine.is_waiting or mine.until <= draft.clock:
            raise Conflict(f"Demand {command.demand} waits no more.")
    if command.shape:
        queue = draft.state.fleet.facts.queue
        given = command.shape, command.priority, mine, draft.clock
        if ahead := queue.ahead(*given):
            raise Queued(
                f"{len(ahead)} demands that ask for the same wait for room, and come "
                "first. Nothing was placed. Ask with a time to wait, to be placed "
                "after them."
            )
    if mine is not None:
        claim = command.claims[0].claim if command.claims else ""
        _end(draft, mine, "placed", claim=claim)


def end(draft: Draft, command: EndDemand) -> None:
    """Raises NotFound; Conflict: it has ended."""
    one = draft.state.fleet.facts.queue.by_uuid.get(command.uuid)
    if one is None:
        raise NotFound(f"There is no demand {command.uuid}.")
    if not one.is_waiting:
        raise Conflict(
            f"Demand {command.uuid} waits no more: it is {one.entry.state}. What was "
            "placed is freed with 'gantt placement release'."
        )
    _end(draft, one, command.state, command.said)


def wait_on(draft: Draft, claim: str) -> None:
    """What was placed by this claim was given back before anyone heard of it."""
    for one in draft.state.fleet.facts.queue.ended():
        if one.entry.state == "placed" and one.entry.claim == claim:
            entry = replace(one.entry, state="waiting", claim="")
            row = replace(one.row, disabled=False, reason=entry.text)
            draft.put(t.FACTS, replace(row, updated_at=draft.now))


def sweep(draft: Draft, command: SweepDemands) -> int:
    """Those whose time is over end; those that ended long ago are forgotten."""
    queue, found = draft.state.fleet.facts.queue, 0
    for one in queue.in_order():
        if one.until <= draft.clock and found < command.limit:
            _end(draft, one, "late", no_room(one.entry.demand))
            found += 1
    for one in list(queue.ended()):
        told = (one.row.updated_at or 0) + command.keep_us
        if told <= draft.clock and found < command.limit:
            draft.delete(t.FACTS, one.row)
            found += 1
    return found


def _end(
    draft: Draft, one: QueuedDemand, state: DemandState, said: str = "", claim: str = ""
) -> None:
    entry = replace(one.entry, state=state, said=said, claim=claim)
    row = replace(one.row, disabled=True, reason=entry.text, updated_at=draft.now)
    draft.put(t.FACTS, row)
