"""Gantt's own API over HTTP: what is more than to send what a row of operations says.

Several calls for what is long, a choice between calls, or a look-up before one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Raw, structs

from gantt import errors
from gantt.client import decode, encode
from gantt.client.native_calls import Native
from gantt.model.audit import GRACE_S, Audit, Kind
from gantt.model.demand_queue import DemandView
from gantt.model.diagnosis import Diagnosis, Relaxation
from gantt.model.fleet import FleetRefusal, FleetStatement
from gantt.model.forms import reports as reports_forms
from gantt.model.forms import scalars, values
from gantt.model.hosts import HostStats, HostView
from gantt.model.operation_bodies import Outcomes, Refused, Selected
from gantt.model.reports import Report, ReportOutcome
from gantt.model.requests import CandidateRequest
from gantt.model.scheduling import Selections
from gantt.model.selection import Decision
from gantt.model.spec import ScheduleRequest
from gantt.model.watching import Event, Events

# Well below what clients and proxies take for a lost connection.
WAIT_S: Final = 20.0
_PAUSE_S: Final = 1.0
# Things in one body, within the service's limit: a host has a few kilobytes, rarely 50.
FLEET_PART: Final = 500
REPORTS_PART: Final = 500


class RemoteScheduling(Native):
    """The part of GanttProtocol that only a Gantt serves; it documents the methods."""

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        """Also raises Invalid for requests that the wire cannot express."""
        pairs = encode.candidate_pairs(request)
        reply = self._native("GET", "candidates", "explain", query=pairs)
        return decode.native(reply, Diagnosis)

    def schedule(self, request: ScheduleRequest) -> Selections:
        request = values.request(request)
        if request.dry_run:
            decision = self.decide(request)
            if decision.failure is not None:
                raise errors.NoValidHost(decision.failure, decision.why)
            return decision.chosen
        body = encode.schedule_body(request)
        reply = self._native("POST", "select", body=body)
        return decode.native(reply, Selected).selections

    def decide(
        self, request: ScheduleRequest, given_up: Sequence[Relaxation] = ()
    ) -> Decision:
        request = values.request(request)
        body = {**encode.schedule_body(request), "dry_run": True}
        if given_up:
            body["given_up"] = given_up
        return decode.native(self._native("POST", "select", body=body), Decision)

    def show_demand(
        self, uuid: str, *, wait_s: float = 0.0, explain: bool = False
    ) -> DemandView:
        """A service with too many watchers answers at once: then this waits a
        little."""
        asked_at = time.monotonic()
        found = super().show_demand(uuid, wait_s=wait_s, explain=explain)
        took_s = time.monotonic() - asked_at
        if found.state == "waiting" and took_s < min(wait_s, _PAUSE_S):
            time.sleep(_PAUSE_S - took_s)
        return found

    def update_host(self, host: str, node: str | None, stats: HostStats) -> HostView:
        host = scalars.name("host", host)
        node = self._node_of(host) if node is None else scalars.name("node", node)
        body = values.stats(stats)
        reply = self._native("PUT", "hosts", host, node, body=body)
        return decode.native(reply, HostView)

    def _node_of(self, host: str) -> str:
        known = [view.node for view in self.list_hosts(host=host)]
        if len(known) > 1:
            raise errors.Invalid(
                f"Host {host!r} has {len(known)} nodes ({', '.join(known[:5])}): give "
                "the name as (host, node)."
            )
        return known[0] if known else host

    def report_hosts(
        self, reports: Iterable[Report | bytes]
    ) -> tuple[ReportOutcome, ...]:
        said = list(reports)
        found: list[ReportOutcome | None] = [None] * len(said)
        good: dict[int, Report | Raw] = {}
        for place, one in enumerate(said):
            try:
                good[place] = reports_forms.embeddable(one)
            except errors.Invalid as refusal:
                found[place] = reports_forms.refused(one, refusal, "")
        places = list(good)
        for start in range(0, len(places), REPORTS_PART):
            some = places[start : start + REPORTS_PART]
            body = {"reports": [good[place] for place in some]}
            reply = self._native("POST", "reports", body=body)
            outcomes = decode.native(reply, Outcomes).outcomes
            for place, outcome in zip(some, outcomes, strict=True):
                found[place] = outcome
        return tuple(one for one in found if one is not None)

    def set_fleet(self, statement: FleetStatement) -> tuple[FleetRefusal, ...]:
        found: list[FleetRefusal] = []
        for part in statement.parts(FLEET_PART):
            reply = self._native("PUT", "fleet", body=part)
            found += decode.native(reply, Refused).refused
        return tuple(found)

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """See GanttProtocol. The service may answer sooner than ``wait_s``."""
        asked = {"since": since, "wait": f"{wait_s:g}"}
        return decode.native(self._native("GET", "watch", query=asked), Events)

    def watch(self, since: str | int | None = None) -> Iterator[Event]:
        """See GanttProtocol. Page by page: only the position is kept in between."""
        place = since
        while True:
            found = self.events(place, wait_s=WAIT_S)
            yield from found.events
            place = found.cursor

    def audit(
        self,
        *,
        grace_s: float = GRACE_S,
        limit: int = 1000,
        kinds: Iterable[Kind] = (),
        host: str = "",
    ) -> Audit:
        asked: dict[str, Any] = {"grace_s": grace_s, "limit": limit}
        if chosen := ",".join(kinds):
            asked["kinds"] = chosen
        if host:
            asked["host"] = host
        found = self._audited(asked)
        findings, last = found.findings, found
        while last.next and len(findings) < limit:
            more = {"limit": limit - len(findings), "after": last.next}
            last = self._audited({**asked, **more})
            findings += last.findings
        return structs.replace(
            found, findings=findings, is_truncated=last.is_truncated, next=last.next
        )

    def _audited(self, asked: dict[str, Any]) -> Audit:
        return decode.native(self._native("GET", "audit", query=asked), Audit)
