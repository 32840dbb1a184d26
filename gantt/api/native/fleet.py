"""A whole fleet, or parts of it, over HTTP."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body
from gantt.model.fleet import FleetRefusal, FleetStatement

_STATEMENT = Body(FleetStatement)


class Refused(Struct, frozen=True):
    """The parts of a statement that were refused; all others hold."""

    refused: tuple[FleetRefusal, ...]


def update(call: Call) -> Refused:
    """PUT /gantt/fleet"""
    return Refused(call.gantt.set_fleet(_STATEMENT.read(call)))
