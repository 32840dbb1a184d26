"""Records of decisions over HTTP: whole for who runs the fleet, counts for others."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.bodies import MOST_RECORDS, DecisionsQuery, query
from gantt.model.selection import Decision


class Decisions(Struct, frozen=True):
    """The latest first."""

    decisions: tuple[Decision, ...]


def list_(call: Call) -> Decisions:
    """GET /gantt/decisions"""
    asked = query(call, DecisionsQuery)
    found = call.gantt.decisions(
        request_id=asked.request_id,
        instance_uuid=asked.instance_uuid,
        # Those of other projects must not count where they are not told.
        limit=asked.limit if redaction.sees_all(call) else MOST_RECORDS,
    )
    return Decisions(tuple(islice(redaction.visible(call, found), asked.limit)))
