"""The audit over HTTP: what disagrees."""

from __future__ import annotations

from typing import cast

from gantt.api.call import Call
from gantt.api.native.body_decoder import query
from gantt.model.audit import FINDINGS_PAGE, Audit, Kind
from gantt.model.operation_bodies import AuditQuery


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
