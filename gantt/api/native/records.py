"""What is kept of decisions, of a shadow's and of an audit, over HTTP.

Decisions are shown complete to operators, and as counts to others.
"""

from __future__ import annotations

from typing import cast

from gantt.api.call import Call
from gantt.api.native import redaction
from gantt.api.native.body_decoder import BodyDecoder, query
from gantt.model.audit import FINDINGS_PAGE, Audit, Kind
from gantt.model.forms.notification import read_observed
from gantt.model.operation_bodies import (
    AuditQuery,
    DecisionsQuery,
    ShadowBody,
    ShadowRecordsQuery,
)
from gantt.model.selection import Asked, DecisionPage
from gantt.model.shadow import ShadowEvent, ShadowPage, ShadowQuery

_BODY = BodyDecoder(ShadowBody)


def decisions(call: Call) -> DecisionPage:
    """GET /gantt/decisions"""
    asked = query(call, DecisionsQuery)
    # A page must not count those of other projects, which are not shown.
    project = None if redaction.sees_all(call) else call.caller.project_id
    found = call.gantt.decision_page(
        Asked(asked.request_id, asked.instance_uuid, project, asked.limit), asked.after
    )
    return DecisionPage(tuple(redaction.visible(call, found.decisions)), found.next)


def observe(call: Call) -> None:
    """POST /gantt/shadow/events"""
    body = _BODY.read(call)
    call.gantt.shadow_event(
        ShadowEvent(
            read_observed(body.request_spec),
            body.phase,
            body.request_id or call.request_id,
            body.at,
            body.instance_uuids,
        )
    )


def shadows(call: Call) -> ShadowPage:
    """GET /gantt/shadow/records"""
    asked = query(call, ShadowRecordsQuery)
    wanted = ShadowQuery(
        asked.since,
        asked.until,
        asked.instance_uuid,
        asked.request_id,
        asked.verdict,
        asked.limit,
    )
    return call.gantt.shadow_page(wanted, asked.after)


def audit(call: Call) -> Audit:
    """GET /gantt/audit"""
    asked = query(call, AuditQuery)
    return call.gantt.audit(
        grace_s=asked.grace_s,
        limit=min(asked.limit, FINDINGS_PAGE),
        kinds=cast(tuple[Kind, ...], tuple(filter(None, asked.kinds.split(",")))),
        host=asked.host,
        after=asked.after,
        max_age_s=asked.max_age_s,
    )
