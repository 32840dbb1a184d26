"""Shadow: decides beside Nova, and keeps what Nova then did, with a verdict.

``observe`` takes a decision that was made anyway, for advice; ``shadow_event`` makes
one, for a notification of Nova.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.options import ShadowOptions
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.decider import Scheduling
from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.engine.shadow.agreement_report import Slimmed, report_on
from gantt.engine.shadow.nova_verdict import Observed
from gantt.engine.shadow.own_decision import Judged, judge
from gantt.engine.shadow.pending_requests import PendingRequests, Waiting
from gantt.engine.shadow.record_store import Keeping, ShadowTable
from gantt.engine.shadow.settler import Settling
from gantt.engine.shadow.sightings import ClaimSightings, Sought
from gantt.engine.threads import LeaderTask, Threads
from gantt.model.advice import AdviceRequest
from gantt.model.forms import shadow as forms
from gantt.model.names import canonical
from gantt.model.paging import followed, length, read
from gantt.model.shadow import (
    MOST_SHADOWS,
    ShadowEvent,
    ShadowPage,
    ShadowPlace,
    ShadowQuery,
    ShadowRecord,
    ShadowReport,
    Verdict,
    check_limit,
)
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.claimed_hosts import claimed
from gantt.scheduler.explain.ranking import kept
from gantt.scheduler.request.segments import as_far_as_known
from gantt.scheduler.sent_hosts import Ranked
from gantt.state.state import State

_AT_ONCE: Final = 2_000
"""Records that a report reads at once."""


class Shadow:
    """Safe for many threads. ``table``: of all processes' records; None: this process
    has them in memory. ``remote``: where Nova claims; None: in these books."""

    def __init__(
        self,
        scheduling: Scheduling,
        reader: Reader,
        replica: Replica,
        options: ShadowOptions,
        table: ShadowTable | None,
        clock: Clock,
        threads: Threads,
        remote: RemoteBooks | None = None,
    ) -> None:
        self._scheduling, self._reader = scheduling, reader
        self._clock = clock
        self._options = options
        self._pending = PendingRequests(options)
        self._sightings = ClaimSightings(replica, reader, clock, remote)
        self._keeping = Keeping(table, options, clock, threads)
        self._settling = Settling(
            self._pending,
            self._sightings,
            self._keeping,
            options,
            clock,
            threads,
        )
        self._observed = self._repeated = 0

    def observe(self, observed: Observed) -> None:
        """Compare a decision with what Nova will claim. Where a request for one of the
        instances is pending, this is a later stage of it: of advice the last one
        counts, of different sources the first."""
        found = map(self._pending.of, observed.instance_uuids)
        known = next((one for one in found if one is not None), None)
        if known is not None:
            self._repeated += 1
            if known.observed.source == observed.source == "advice":
                known.judge_again(observed)
            return
        self._observed += 1
        uuids, at = observed.instance_uuids, observed.asked_at
        had = self._reader.read(_held, uuids, at, consistency=Consistency.LOCAL)
        until = self._clock.monotonic() + self._options.shadow_settle_s
        for gone in self._pending.add(Waiting(observed, until)):
            self._sightings.forget(gone.uuids.values())
        for uuid in uuids:
            self._sightings.seek(Sought(uuid, at, observed.excluded | had[uuid]))
        self._settling.wake()

    def advised(
        self,
        request: AdviceRequest,
        spec: RequestSpec,
        ranked: Ranked | None,
        judged: Judged,
    ) -> None:
        """Advice was given: an observation if it is for an instance. ``spec``: as it
        was judged. ``ranked`` None: the request was refused."""
        if spec.instance_uuid is None:
            return
        check = spec.hint("_nova_check_type")
        later = None if ranked is None else kept(ranked).ranking
        self.observe(
            Observed(
                (spec.instance_uuid,),
                1,
                judged,
                "advice",
                judged.at - int(judged.took_s * 1_000_000),
                request_id=request.request_id,
                project_id=spec.project_id,
                mode=request.mode,
                operation=request.operation or str(check or "create"),
                excluded=frozenset(spec.ignore_hosts),
                hosts=len(request.hosts),
                later=later,
            )
        )

    def shadow_event(self, event: ShadowEvent) -> None:
        """See GanttProtocol."""
        event = forms.checked(event)
        now = self._clock.now()
        at = now if event.at is None else min(event.at, now)
        known = event.instance_uuids
        if not known and event.spec.instance_uuid is not None:
            known = (event.spec.instance_uuid,)
        if event.phase == "end":
            self._end(event, known, at)
        elif self._is_pending(known):
            self._repeated += 1
        else:
            self.observe(self._judged(event, known, at))

    def _judged(self, event: ShadowEvent, known: tuple[str, ...], at: int) -> Observed:
        spec = as_far_as_known(event.spec)
        request = ScheduleRequest(
            spec,
            return_alternates=False,
            dry_run=True,
            request_id=event.request_id,
            project_id=spec.project_id,
        )
        most = self._options.shadow_scored
        judged = judge(self._scheduling, request, known, at, most)
        check = spec.hint("_nova_check_type")
        return Observed(
            known[: request.count],
            request.count,
            judged,
            "notification",
            at,
            request_id=event.request_id,
            project_id=spec.project_id,
            operation=str(check or "create"),
            excluded=frozenset(spec.ignore_hosts),
            hosts=len(judged.ranking.hosts),
        )

    def _end(self, event: ShadowEvent, known: tuple[str, ...], at: int) -> None:
        uuid = known[-1] if known else None
        one = self._pending.of(uuid, event.request_id)
        if one is None:
            return
        before = set(one.uuids)
        one.end(at, uuid)
        self._pending.name(one)
        for number in one.uuids.keys() - before:
            since, excluded = one.observed.asked_at, one.observed.excluded
            self._sightings.seek(Sought(one.uuids[number], since, excluded))

    def _is_pending(self, known: Iterable[str]) -> bool:
        return any(self._pending.of(uuid) is not None for uuid in known)

    # -- answers ------------------------------------------------------------------

    def shadow_records(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        instance_uuid: str | None = None,
        request_id: str | None = None,
        verdict: Verdict | None = None,
        limit: int = 100,
    ) -> tuple[ShadowRecord, ...]:
        """See GanttProtocol."""
        asked = ShadowQuery(since, until, instance_uuid, request_id, verdict)

        def page(after: str, most: int) -> tuple[tuple[ShadowRecord, ...], str]:
            found = self.shadow_page(replace(asked, limit=most), after)
            return found.shadow_records, found.next

        return followed(page, check_limit(limit))

    def shadow_page(self, asked: ShadowQuery, after: str = "") -> ShadowPage:
        """The latest first: a page. ``after``: the ``next`` of the page before. Raises
        Invalid."""
        place: ShadowPlace | None = read(after, ShadowPlace) if after else None
        limit, uuid = length(asked.limit), asked.instance_uuid
        uuid = None if uuid is None else canonical(uuid)
        asked = replace(asked, instance_uuid=uuid, limit=limit, after=place)
        return self._keeping.page(asked)

    def shadow_report(
        self, *, since: int | None = None, until: int | None = None
    ) -> ShadowReport:
        """See GanttProtocol."""
        asked = ShadowQuery(since=since, until=until, limit=_AT_ONCE)
        found = Slimmed()
        while len(found.records) < MOST_SHADOWS:
            page = self._keeping.page(asked)
            found.add(page.shadow_records)
            if not page.next:
                break
            asked = replace(asked, after=read(page.next, ShadowPlace))
        return report_on(found.records)

    def counts(self) -> dict[str, float]:
        """For metrics."""
        options = self._options
        return {
            "shadow_pending": len(self._pending),
            "shadow_pending_limit": options.shadow_pending,
            "shadow_pending_hosts_limit": options.shadow_pending_hosts,
            "shadow_observed": self._observed,
            "shadow_repeated": self._repeated,
            "shadow_abandoned": self._pending.dropped,
            "shadow_polls": self._sightings.polls,
            "shadow_poll_failures": self._sightings.poll_failures,
            **self._settling.counts(),
            **self._keeping.counts(),
        }

    def leader_tasks(self) -> Iterable[LeaderTask]:
        """What the leader does for all processes."""
        return self._keeping.leader_tasks()

    def close(self) -> None:
        """Stop, and write what is settled."""
        self._settling.close()
        self._keeping.close()


def _held(
    state: State, known: tuple[str, ...], asked_at: int
) -> dict[str, frozenset[str]]:
    """The hosts that instances had before: those are no news."""
    found = {}
    for uuid in known:
        new = {one.host for one in claimed(state, uuid, asked_at)}
        held = {one.host for one in claimed(state, uuid)}
        found[uuid] = frozenset(held - new)
    return found
