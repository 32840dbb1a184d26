"""Records of decisions over HTTP: complete for operators, counts for others."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.body_decoder import query
from gantt.model.operation_bodies import DecisionsQuery
from gantt.model.selection import Asked, DecisionPage


def list_(call: Call) -> DecisionPage:
    """GET /gantt/decisions"""
    asked = query(call, DecisionsQuery)
    # A page must not count those of other projects, which are not shown.
    project = None if redaction.sees_all(call) else call.caller.project_id
    found = call.gantt.decision_page(
        Asked(asked.request_id, asked.instance_uuid, project, asked.limit), asked.after
    )
    return DecisionPage(tuple(redaction.visible(call, found.decisions)), found.next)
