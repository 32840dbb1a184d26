"""Shadow records over HTTP: what a listener observes, and what became of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body, RequestForm, query
from gantt.model.bounds import Name, RequestId
from gantt.model.forms.notification import read_observed
from gantt.model.paging import After
from gantt.model.shadow import (
    MOST_SHADOWS,
    Phase,
    ShadowEvent,
    ShadowPage,
    ShadowQuery,
    ShadowReport,
    Verdict,
)

_Time = Annotated[int, Meta(ge=0)]
_Limit = Annotated[int, Meta(ge=1, le=MOST_SHADOWS)]


class ShadowBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/shadow/events. ``request_spec``: a request in any form, or the
    payload of Nova's notification; ``at``: when Nova asked, microseconds since the
    epoch (by default now)."""

    request_spec: RequestForm
    phase: Phase = "start"
    request_id: RequestId = ""
    at: _Time | None = None
    instance_uuids: tuple[Name, ...] = ()


class ShadowTimes(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/shadow/report: requests from ``since`` up to, not including,
    ``until``."""

    since: _Time | None = None
    until: _Time | None = None


class ShadowRecordsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/shadow/records: also of one instance, request or verdict. ``limit``: a
    page has at most 200 all the same."""

    since: _Time | None = None
    until: _Time | None = None
    instance_uuid: str | None = None
    request_id: str | None = None
    verdict: Verdict | None = None
    limit: _Limit = 100
    after: After = ""


_BODY = Body(ShadowBody)


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
        *(asked.since, asked.until, asked.instance_uuid, asked.request_id),
        asked.verdict,
        asked.limit,
    )
    return call.gantt.shadow_page(wanted, asked.after)


def report(call: Call) -> ShadowReport:
    """GET /gantt/shadow/report"""
    asked = query(call, ShadowTimes)
    return call.gantt.shadow_report(since=asked.since, until=asked.until)
