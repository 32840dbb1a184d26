"""Records of decisions over HTTP: complete for operators, counts for others."""

from __future__ import annotations

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.bodies import DecisionsQuery, query
from gantt.model.selection import Decision


class Decisions(Struct, frozen=True):
    """Latest first."""

    decisions: tuple[Decision, ...]


def list_(call: Call) -> Decisions:
    """GET /gantt/decisions"""
    asked = query(call, DecisionsQuery)
    project = None if redaction.sees_all(call) else call.caller.project_id
    found = call.gantt.decisions(
        request_id=asked.request_id,
        instance_uuid=asked.instance_uuid,
        # The limit must not count those of other projects, which are not shown.
        project_id=project,
        limit=asked.limit,
    )
    return Decisions(tuple(redaction.visible(call, found)))
