"""The history of capacity and usage over HTTP."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gantt.api.call import Call
from gantt.api.native.bodies import query
from gantt.model.usage_history import EVER, MOST_RECORDS, Period, UsageRecord

_Time = Annotated[
    int, Meta(ge=0, le=EVER, description="Microseconds since the epoch, UTC.")
]


class UsageHistoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """GET /gantt/usage-history. Periods begin at ``since`` or later, before ``until``;
    the answer has the latest ``limit`` records, in whole periods, and at least one.
    ``zone``: of its hosts alone; "": of all providers."""

    resource_class: str | None = None
    since: _Time | None = None
    until: _Time | None = None
    period: Period = "hour"
    limit: Annotated[int, Meta(ge=1, le=MOST_RECORDS)] = 1000
    zone: str = ""


class UsageHistory(Struct, frozen=True):
    """Oldest first."""

    usage_history: tuple[UsageRecord, ...]


def list_(call: Call) -> UsageHistory:
    """GET /gantt/usage-history"""
    asked = query(call, UsageHistoryQuery)
    return UsageHistory(
        call.gantt.usage_history(
            asked.resource_class,
            since=asked.since,
            until=asked.until,
            period=asked.period,
            limit=asked.limit,
            zone=asked.zone,
        )
    )
