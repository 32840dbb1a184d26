"""Shadow records over HTTP: what a listener observes, and what became of it."""

from __future__ import annotations

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder, query
from gantt.model.forms.notification import read_observed
from gantt.model.operation_bodies import ShadowBody, ShadowRecordsQuery
from gantt.model.shadow import ShadowEvent, ShadowPage, ShadowQuery

_BODY = BodyDecoder(ShadowBody)


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


def list_(call: Call) -> ShadowPage:
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
