"""Reports of agents over HTTP.

A caller without ``gantt:reports:any`` may only report the host that has the name of its
user; reports of other hosts are refused by themselves.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.body_decoder import BodyDecoder
from gantt.model.operation_bodies import Outcomes

ANY = "gantt:reports:any"


class _Reports(Struct, frozen=True, forbid_unknown_fields=True):
    """ReportsBody, with the reports as they came: each is refused by itself."""

    reports: list[msgspec.Raw]


_REPORTS = BodyDecoder(_Reports)


def take_in(call: Call) -> Outcomes:
    """POST /gantt/reports"""
    said = [bytes(one) for one in _REPORTS.read(call).reports]
    return Outcomes(call.gantt.report_hosts(said, only_host=_own(call)))


def _own(call: Call) -> str | None:
    """The only host that the caller may report; None: any."""
    if not call.door.policy.allows(ANY, call.caller, {}):
        return None
    return call.caller.user_id or ""
