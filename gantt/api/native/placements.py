"""The plain door over HTTP: place what is asked for, list, confirm and release it.

A caller without ``gantt:claims:any`` places for its own project, and finds what is
called so there.
"""

from __future__ import annotations

import time
from typing import Final

from msgspec.structs import replace

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder, query
from gantt.api.native.claims import bound_to
from gantt.api.native.permissions import permitted
from gantt.api.native.redaction import sees_all
from gantt.api.native.select import refused
from gantt.api.wire.problem import Problem
from gantt.errors import NotFound, NoValidHost
from gantt.model.demand import Demand
from gantt.model.demand_queue import DemandQuery, DemandsQuery, DemandView
from gantt.model.operation_bodies import Demands, PlaceBody, PlacedBody, Placements
from gantt.model.placements import PlacedQuery, Plan
from gantt.model.spec import RequestSpec

_TURN_S: Final = 0.5
_REFUSED: Final = "It can no longer be placed as it was asked."
_PLACE: BodyDecoder[PlaceBody] = BodyDecoder(PlaceBody)
_PLACED: BodyDecoder[PlacedBody] = BodyDecoder(PlacedBody)


def place(call: Call) -> Plan:
    """POST /gantt/place"""
    body = _PLACE.read(call)
    own = permitted(call, RequestSpec(), body).project_id
    demand = Demand(
        body.items,
        _plan(call, body),
        body.project if own is None else own,
        body.lease_s,
        body.dry_run,
        body.relations,
        body.wait_s,
        body.priority,
        call.request_id,
        call.caller.user_id,
        own,
    )
    try:
        return call.gantt.place_demand(demand)
    except NoValidHost as refusal:
        # The message names no host.
        raise refused(call, refusal, refusal.message) from None


def _plan(call: Call, body: PlaceBody) -> str:
    """Raises Problem."""
    key = call.environ.get("HTTP_IDEMPOTENCY_KEY", "")
    if key and body.plan not in ("", key):
        raise Problem(
            400,
            f"The header Idempotency-Key says {key!r} and the body {body.plan!r}: both "
            "name the plan. Give one of them.",
        )
    return key or body.plan


def list_(call: Call) -> Placements:
    """GET /gantt/placements"""
    asked, own = query(call, PlacedQuery), bound_to(call)
    if own is not None:
        asked = replace(asked, project=own)
    found, after = call.gantt.placement_page(asked)
    return Placements(found, after)


def confirm(call: Call) -> None:
    """POST /gantt/placements/confirm"""
    body = _named(call)
    call.gantt.confirm_placement(body.name, plan=body.plan, project=body.project)


def release(call: Call) -> None:
    """POST /gantt/placements/release"""
    body = _named(call)
    call.gantt.release_placement(body.name, plan=body.plan, project=body.project)


def _named(call: Call) -> PlacedBody:
    """What the caller names, in its own project if it is bound to that. Raises
    Forbidden."""
    body = _PLACED.read(call)
    own = permitted(call, RequestSpec(), body).project_id
    return body if own is None else replace(body, project=own)


def demands(call: Call) -> Demands:
    """GET /gantt/demands"""
    asked, own = query(call, DemandsQuery), bound_to(call)
    if own is not None:
        asked = replace(asked, project=own)
    found, after = call.gantt.demand_page(asked)
    return Demands(found, after)


def demand(call: Call, uuid: str) -> DemandView:
    """GET /gantt/demands/{uuid}: it waits in one of the places for watchers; where none
    is free it does not wait, and says so by its answer."""
    asked, watchers = query(call, DemandQuery), call.door.watchers
    found = _own_demand(call, uuid)
    deadline = time.monotonic() + asked.wait_s
    if asked.wait_s and found.state == "waiting" and watchers.enter():
        try:
            while found.state == "waiting" and not watchers.is_draining():
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                found = call.gantt.show_demand(uuid, wait_s=min(left_s, _TURN_S))
        finally:
            watchers.leave()
    if asked.explain and found.state == "waiting":
        found = call.gantt.show_demand(uuid, explain=True)
    if sees_all(call):
        return found
    if found.state == "refused":
        return replace(found, said=(_REFUSED,))
    # The others name hosts.
    return replace(found, said=found.said[: 1 + (found.place > 1)])


def cancel_demand(call: Call, uuid: str) -> None:
    """DELETE /gantt/demands/{uuid}"""
    _own_demand(call, uuid)
    call.gantt.cancel_demand(uuid)


def _own_demand(call: Call, uuid: str) -> DemandView:
    """Raises NotFound, also for another project's."""
    found, own = call.gantt.show_demand(uuid), bound_to(call)
    if own is not None and found.project != own:
        raise NotFound(f"There is no demand {uuid} of this project.")
    return found
