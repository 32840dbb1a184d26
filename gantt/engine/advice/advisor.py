"""Gives advice: in its own time, and whatever fails, the caller's order instead.

It reads the State of this process as it is: an advice stands while the database is
away, and its caller claims by itself.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from gantt.engine.advice.advice_threads import AdviceCall, AdviceThreads, TooLate
from gantt.engine.options import EngineOptions
from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling import decision_record
from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.scheduling.decider import Scheduling
from gantt.engine.shadow.nova_comparison import Shadow
from gantt.engine.shadow.own_decision import NO_HOST, Judged
from gantt.engine.threads import Threads
from gantt.engine.uuids import new_uuid
from gantt.errors import (
    BudgetSpent,
    Busy,
    GanttError,
    Invalid,
    NoValidHost,
    PluginFailed,
    StoreFailed,
)
from gantt.model.advice import Advice, AdviceRequest, Order, undecided
from gantt.model.selection import Decision
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement import group_rules
from gantt.placement.fleet_queries import reported_at
from gantt.scheduler import sent_hosts
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.feasibility.candidate_sources import GIVEN_SOURCE, CandidateSource
from gantt.scheduler.selection.answer import selections
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.topology_fit import fitting_of
from gantt.scheduler.sent_hosts import Ranked
from gantt.state.state import State

LOG = logging.getLogger(__name__)

DECIDED: Final = "decided"
_REASONS: Final = (
    (TooLate, "deadline"),
    (NoValidHost, "no valid host"),
    (Invalid, "invalid request"),
    (PluginFailed, "plug-in failed"),
    (BudgetSpent, "search limit"),
    (Busy, "busy"),
    (StoreFailed, "database"),
)


class Advising:
    """Safe for many threads."""

    def __init__(
        self,
        scheduling: Scheduling,
        checks: Checks,
        options: EngineOptions,
        rng: random.Random,
        threads: Threads,
        shadow: Shadow,
    ) -> None:
        self._scheduling = scheduling
        self._shadow = shadow
        self._checks = checks
        self._holds = scheduling.holds
        assert scheduling.records.advice is not None, "advice has records of its own"
        self._records = scheduling.records.advice
        self._options = options.advice
        self._search_budget = options.search_budget
        self._rng = rng
        self._threads = AdviceThreads(
            self._options.advice_threads, self._options.advice_waiting, threads
        )

    def advise(self, request: AdviceRequest) -> Advice:
        """In which order to try ``request.hosts``; in their own order where that cannot
        be decided in time."""
        return self.order_hosts(request).advice()

    def order_hosts(self, request: AdviceRequest) -> Order:
        """Gives advice as an ``Order``, not yet written as its caller wants it."""
        clock = self._scheduling.clock
        began = clock.monotonic()
        if not request.request_id:
            request = replace(request, request_id=f"req-{new_uuid()}")
        try:
            order = self._decided(request)
        except Exception as error:
            order = undecided(request, _reason(error))
            _log(order, error)
        took_s = clock.monotonic() - began
        self._scheduling.records.observer.advised(order.why or DECIDED, took_s)
        return order

    def _decided(self, request: AdviceRequest) -> Order:
        most = self._options.advice_hosts
        if len(request.hosts) > most:
            raise Invalid(
                f"{len(request.hosts)} hosts were sent; {most} is the limit. Send "
                "fewer, or raise advice_hosts of [gantt]."
            )
        return self._threads.call(
            lambda call: self._run(request, call), self._options.advice_deadline_s
        )

    def _run(self, request: AdviceRequest, call: AdviceCall[Order]) -> Order:
        """In a thread for advice."""
        at = self._scheduling
        began = at.clock.monotonic()
        asked = _as_dry_run(request, self._checks.spec(sent_hosts.spec_of(request)))
        try:
            ranked, record, board, judged = at.reader.search(
                at.plugins.decided(self._run_on),
                request,
                asked,
                call.settle,
                request.mode == "decide" and at.reader.is_current(),
                consistency=Consistency.LOCAL,
            )
        except NoValidHost as refusal:
            failed = decision_record.failed(
                asked,
                refusal,
                revision=at.reader.revision,
                at=at.clock.now(),
                driver=at.driver.name,
            )
            self._records.add(replace(failed, request=self._records.kept(asked)))
            judged = Judged(failure=refusal.message)
            self._observed(request, asked.spec, None, judged, began)
            raise
        timings = {"decide": at.clock.monotonic() - began}
        kept = self._records.kept(asked)
        self._records.add(replace(record, timings=timings, request=kept), board)
        self._observed(request, asked.spec, ranked, judged, began)
        return Order(
            request, ranked.order.tolist(), ranked.weights.tolist(), ranked.refusals
        )

    def _observed(
        self,
        request: AdviceRequest,
        spec: RequestSpec,
        ranked: Ranked | None,
        judged: Judged,
        began: float,
    ) -> None:
        clock = self._scheduling.clock
        took_s = clock.monotonic() - began
        judged = replace(judged, at=clock.now(), took_s=took_s)
        self._shadow.advised(request, spec, ranked, judged)

    def _run_on(
        self,
        state: State,
        request: AdviceRequest,
        asked: ScheduleRequest,
        settle: Callable[[], bool],
        is_current: bool,
    ) -> tuple[Ranked, Decision, Scoreboard, Judged]:
        at, now = self._scheduling, self._scheduling.clock.now()
        consumer = asked.spec.instance_uuid or request.request_id
        ranked = sent_hosts.rank(
            state,
            request,
            asked.spec,
            self._source(state),
            at.driver,
            self._options,
            self._holds.others(state, (consumer,)),
            now=now,
            rng=self._rng,
            budget=self._search_budget,
            is_current=is_current,
        )
        record = at.draft(state, asked, ranked.feasible, now)
        board = Scoreboard(state, ranked.feasible, now, at.options.record_hosts)
        if ranked.best is not None:
            picks = [[ranked.best]]
            chosen = selections(state, asked, ranked.feasible, picks, (), now)
            record = replace(record, chosen=chosen)
            if _is_followed(request, asked.spec) and settle():
                self._hold(state, consumer, ranked, ranked.best)
        return ranked, record, board, _judged(state, request, ranked, board)

    def _hold(self, state: State, consumer: str, ranked: Ranked, best: Pick) -> None:
        job = ranked.feasible.job
        group = job.spec.instance_group
        is_apart = group is not None and group.policy == group_rules.ANTI_AFFINITY
        fitting = fitting_of(state, ranked.feasible)
        self._holds.add(
            state,
            consumer,
            best.host_id,
            ranked.feasible.taken,
            best.candidate,
            group.uuid if group is not None and is_apart else None,
            None if fitting is None else fitting.pending(best.row, best.candidate),
        )

    def _source(self, state: State) -> CandidateSource:
        local = self._scheduling.local
        is_own = self._options.advice_placement == "own"
        return local.source(state) if is_own and local is not None else GIVEN_SOURCE

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "advice_threads_busy": self._threads.busy(),
            "advice_threads_limit": self._options.advice_threads,
            "advice_waiting": self._threads.waiting(),
            "advice_waiting_limit": self._options.advice_waiting,
            "advice_hosts_limit": self._options.advice_hosts,
            **self._holds.counts(),
        }

    def close(self) -> None:
        """End threads that wait."""
        self._threads.close()


def _judged(
    state: State, request: AdviceRequest, ranked: Ranked, board: Scoreboard
) -> Judged:
    """For the shadow."""
    best, scoring, revision = ranked.best, board.scoring, state.revision
    if best is None:
        return Judged(failure=NO_HOST, scoring=scoring, revision=revision)
    first = request.hosts[int(ranked.order[0])]
    return Judged(
        picks=((first.host, first.node or ""),),
        reported_at=(reported_at(state, best.row),),
        scoring=scoring,
        revision=revision,
    )


def _is_followed(request: AdviceRequest, spec: RequestSpec) -> bool:
    """Whether the caller will try the first host next."""
    is_choice = request.stage == "weigh" and request.mode != "observe"
    return is_choice and not spec.is_rebuild


def _as_dry_run(request: AdviceRequest, spec: RequestSpec) -> ScheduleRequest:
    """The request as records of decisions have it."""
    uuid = spec.instance_uuid
    return ScheduleRequest(
        spec,
        None if uuid is None else (uuid,),
        return_alternates=False,
        dry_run=True,
        request_id=request.request_id,
        project_id=spec.project_id,
    )


def _reason(error: Exception) -> str:
    """Why there is no advice, in one word or two; a label of metrics."""
    return next((text for kind, text in _REASONS if isinstance(error, kind)), "error")


def _log(order: Order, error: Exception) -> None:
    is_bug = not isinstance(error, GanttError | TooLate)
    level = logging.ERROR if is_bug else logging.WARNING
    text = f"{order.request.request_id}: no advice ({order.why}): {error}"
    LOG.log(level, "%s", text, exc_info=is_bug)
