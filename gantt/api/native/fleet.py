"""A whole fleet, or parts of it, over HTTP."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body, query
from gantt.model.fleet import FleetRefusal, FleetStatement
from gantt.model.fleet_map import FleetMap

_STATEMENT = Body(FleetStatement)


class Refused(Struct, frozen=True):
    """The parts of a statement that were refused; all others hold."""

    refused: tuple[FleetRefusal, ...]


class FleetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/fleet. ``after``: the place of an earlier answer; only what changed
    since is returned."""

    after: str | None = None


def show(call: Call) -> FleetMap:
    """GET /gantt/fleet"""
    return call.gantt.fleet_map(query(call, FleetQuery).after)


def update(call: Call) -> Refused:
    """PUT /gantt/fleet"""
    return Refused(call.gantt.set_fleet(_STATEMENT.read(call)))
