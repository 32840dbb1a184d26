"""The audit over HTTP: what disagrees, and the repair of one finding."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body, query
from gantt.model.audit import (
    FINDINGS_PAGE,
    GRACE_S,
    Audit,
    Finding,
    Findings,
    Grace,
    Kind,
)
from gantt.model.paging import After


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/audit. ``grace_s``: what is claimed for less may not run yet;
    ``limit``: of findings, of which an answer has at most 1,000; ``kinds``: only these,
    with commas between them; ``host``: only findings about it."""

    grace_s: Grace = GRACE_S
    limit: Findings = 1000
    kinds: str = ""
    host: str = ""
    after: After = ""


class RepairBody(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /gantt/audit/repairs: a finding as the audit told it. ``kinds``: host_gone
    is repaired only where this names it."""

    finding: Finding
    grace_s: Grace = GRACE_S
    kinds: tuple[Kind, ...] = ()


_REPAIR = Body(RepairBody)


def report(call: Call) -> Audit:
    """GET /gantt/audit"""
    asked = query(call, AuditQuery)
    return call.gantt.audit(
        grace_s=asked.grace_s,
        limit=min(asked.limit, FINDINGS_PAGE),
        kinds=cast(tuple[Kind, ...], tuple(filter(None, asked.kinds.split(",")))),
        host=asked.host,
        after=asked.after,
    )


def repair(call: Call) -> Finding:
    """POST /gantt/audit/repairs"""
    body = _REPAIR.read(call)
    return call.gantt.repair(
        body.finding,
        grace_s=body.grace_s,
        kinds=body.kinds,
        request_id=call.request_id,
    )
