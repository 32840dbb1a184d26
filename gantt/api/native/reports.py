"""Reports of agents over HTTP."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from gantt.api.call import Call
from gantt.api.native.bodies import Body
from gantt.model.needs import Needs
from gantt.model.reports import ReportOutcome


class _Reports(Struct, frozen=True, forbid_unknown_fields=True):
    """ReportsBody, with the reports as they came: each is refused by itself."""

    reports: list[msgspec.Raw]


class Outcomes(Struct, frozen=True):
    """What became of each report, in their order."""

    outcomes: tuple[ReportOutcome, ...]


_REPORTS = Body(_Reports)


def needs(call: Call) -> Needs:
    """GET /gantt/needs"""
    return call.gantt.needs()


def take_in(call: Call) -> Outcomes:
    """POST /gantt/reports"""
    said = _REPORTS.read(call).reports
    return Outcomes(call.gantt.report_hosts(bytes(one) for one in said))
