"""Decides on the columns: gives ``gantt.scheduler.cycle`` State, clock and random
numbers, and records what comes of it. ``engine.scheduling_cycle`` claims.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.commit.committer import Committer
from gantt.engine.observer import StageTime
from gantt.engine.options import EngineOptions
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.recording.recorder import Recording
from gantt.engine.scheduling import decision_record
from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.scheduling.holds import Holds
from gantt.engine.scheduling.local_books import LocalBooks
from gantt.engine.scheduling.plugin_threads import PluginThreads
from gantt.engine.scheduling.records import Records
from gantt.engine.scheduling.remote_placement import RemotePlacement
from gantt.engine.threads import Threads
from gantt.errors import (
    NoValidHost,
    PluginFailed,
)
from gantt.model.answers import Claimed
from gantt.model.commands import Claim
from gantt.model.diagnosis import Relaxation
from gantt.model.needs import Needs
from gantt.model.scheduling import Selections
from gantt.model.selection import Capacity, Decision
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.known_instances import names_of
from gantt.scheduler import cycle
from gantt.scheduler.capacity.flavor_capacity import capacity
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.evaluation.known_drivers import driver_of
from gantt.scheduler.evaluation.known_names import NAMING, check_names
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.explain.trials import Trials
from gantt.scheduler.explain.weaker_request import WeakerRequest, without
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.report_needs import needs
from gantt.scheduler.selection.answer import selections
from gantt.scheduler.selection.picks import InstancePicks
from gantt.scheduler.stages import Mark
from gantt.state.state import State

LOG = logging.getLogger(__name__)
# Settled when an engine is opened.
_FIXED: Final = tuple(
    (
        "placement placement_token placement_timeout_s placement_lease_s "
        "use_placement records record_request_bytes kept_changes shared_records "
        "shared_backlog shared_scores"
    ).split()
)


class AmountSource(Protocol):
    """Where one request asks for amounts and claims them: this process, or a remote
    Placement."""

    def ask(self, again: bool) -> CandidateSource:
        """What hosts can supply; ``again``: list anew what is listed. It may take long,
        and is asked outside any lock."""

    def look_again(self) -> None:
        """Before a claim that was made by an equal request is the answer: end it where
        it holds nothing any more. Raises Unavailable, AlreadyClaimed."""

    def bind(self, claim: Claim, reserved: Claimed) -> None:
        """Write and confirm it. Raises ClaimLost, Forbidden, NoValidHost, Stale, and
        then nothing is written or reserved; Unavailable: its lease ends the claim."""

    def unreserve(self, claim: Claim, reserved: Claimed) -> None:
        """End the claim, and remove what was written for it."""


class Scheduling:
    """Safe for many threads. ``remote``: decides amounts where the options say so;
    None: this process does."""

    def __init__(
        self,
        reader: Reader,
        committer: Committer,
        checks: Checks,
        driver: Driver,
        plugins: PluginThreads,
        clock: Clock,
        rng: random.Random,
        threads: Threads,
        options: EngineOptions,
        remote: RemotePlacement | None,
    ) -> None:
        self.driver = driver
        self.plugins = plugins
        most = checks.options.record_request_bytes
        self.records = Records(checks.options.records, most)
        self.records.advice = Records(checks.options.records, most)
        self.records.names = lambda uuids, project: reader.read(
            lambda state: names_of(state, uuids, project),
            consistency=Consistency.LOCAL,
        )
        self.lost = 0
        self.recording: Recording | None = None
        self.reader = reader
        self.committer = committer
        self.clock = clock
        self.policy_since = clock.now()
        self._checks = checks
        self._rng = rng
        self.search_budget = options.search_budget
        self._local = LocalBooks(reader, committer, checks.options.use_placement)
        self._remote = remote
        self.holds = Holds(options.advice, clock, threads)

    @property
    def local(self) -> LocalBooks | None:
        """Where this process decides amounts; None: a remote Placement does."""
        return self._local if self._remote is None else None

    @property
    def options(self) -> SchedulerOptions:
        """Those in force."""
        return self._checks.options

    def retune(self, options: SchedulerOptions) -> None:
        """Decide by ``options`` from now on, all but those of ``_FIXED``. Raises
        Refused, and then nothing changes."""
        kept = {name: getattr(self.options, name) for name in _FIXED}
        wanted = replace(options, **kept)
        if wanted != self.options:
            self.driver = driver_of(policy_of(wanted, self.plugins), self.plugins)
            self._checks.options = wanted
            self.policy_since = self.clock.now()

    def needs(self) -> Needs:
        """What hosts are to report."""
        return needs(self.driver.policy, self.driver.chooser is not None)

    # -- where things run ---------------------------------------------------------

    def checked(self, request: ScheduleRequest) -> ScheduleRequest:
        """The request with validated types. Raises Invalid."""
        request = self._checks.request(request)
        self._checks.words(request.spec)
        return request

    def looked(self, request: ScheduleRequest) -> Selections:
        """The answer to a checked request; nothing is claimed. Raises NoValidHost."""
        decision = self._look(WeakerRequest(request, self.driver))
        if decision.failure is not None:
            raise NoValidHost(decision.failure, decision.why)
        return decision.chosen

    def decide(
        self, request: ScheduleRequest, given_up: Sequence[Relaxation] = ()
    ) -> Decision:
        """The whole record of a decision; nothing is claimed."""
        request = replace(self._checks.request(request), dry_run=True)
        changed = without(request, self.driver, given_up)
        self._checks.words(changed.request.spec)
        return self._look(changed)

    def capacity(self, spec: RequestSpec) -> Capacity:
        """How many more instances like ``spec`` fit, where, and what blocks more."""
        spec = self._checks.spec(spec)
        self._checks.words(spec)
        request = ScheduleRequest(replace(spec, num_instances=1), dry_run=True)
        source = self.amounts(request).ask(again=False)
        count = self.plugins.decided(self._capacity_on)
        found = self.reader.search(count, request.spec, source)
        self.records.note_change(found)
        return found

    def ask(self, request: ScheduleRequest) -> tuple[ScheduleRequest, CandidateSource]:
        """The checked request, and where its amounts are asked for. Raises Invalid,
        NoValidHost."""
        request = self.checked(request)
        return request, self.amounts(request).ask(again=False)

    def counts(self) -> dict[str, float]:
        """What was decided so far, by name; for metrics."""
        return {
            **self.records.counts(),
            **self._checks.counts(),
            **self.plugins.counts(),
            **self.driver.counts(),
            "claims_lost": self.lost,
        }

    def close(self) -> None:
        """End the threads of plug-ins and of records."""
        self.plugins.close()
        self.records.close()

    def amounts(self, request: ScheduleRequest) -> AmountSource:
        """Those of a checked request."""
        remote = self._remote
        if remote is not None and remote.decides(request.spec, self.options):
            return remote.request(request, self.options)
        return self._local

    # -- on the State -------------------------------------------------------------

    def select(
        self,
        state: State,
        request: ScheduleRequest,
        source: CandidateSource,
        driver: Driver,
        now: int,
        mark: Mark | None = None,
        firm: Mapping[int, HeldHost] = MappingProxyType({}),
        *,
        explains: bool = True,
    ) -> InstancePicks:
        """The pure part of the cycle, recorded where ``driver`` is the one in force;
        ``mark``: is told of its stages; ``firm``: what its demand has placed, by row.
        Raises NoValidHost with the reasons, if it ``explains``, Invalid."""
        if any(NAMING(request.spec)):
            check_names(state, request.spec, driver)
        held, rest = self.holds.others(state, request.names, firm), self.reader.rest
        given, budget = (state, request, source, driver), self.search_budget
        try:
            if self.recording is not None and driver is self.driver:
                return self.recording.decide(*given, now, held, rest, mark)
            return cycle.decide(
                *given,
                now=now,
                rng=self._rng,
                budget=budget,
                pause=rest,
                held=held,
                mark=mark,
            )
        except NoValidHost as refusal:
            if not explains:
                raise
            trials = Trials(*given, now, budget, self.plugins.give_way, held)
            raise cycle.explained(refusal, trials, mark) from None

    def draft(
        self, state: State, request: ScheduleRequest, feasible: FeasibleHosts, now: int
    ) -> Decision:
        """The record of a decision, without what became of it."""
        return decision_record.decided(
            request, feasible, revision=state.revision, at=now, driver=self.driver.name
        )

    def _look(self, changed: WeakerRequest) -> Decision:
        """Decide and claim nothing. The stored record has the scores of a few hosts,
        not of all."""
        request = changed.request
        began = self.clock.monotonic()
        try:
            source = self.amounts(request).ask(again=False)
            look = self.plugins.decided(self._look_on)
            found = self.reader.search(look, changed, source)
        except NoValidHost as refusal:  # before any State was looked at
            found = self._failed(request, refusal)
        except PluginFailed as failure:
            self.record_failure(request, failure, began)
            raise
        found = replace(
            found,
            timings={"decide": self.clock.monotonic() - began},
            request=self.records.kept(request, changed.filters_off),
        )
        few = found.scores[: self.options.record_hosts]
        self.records.add(replace(found, scores=few), user_id=request.user_id)
        return found

    def _look_on(
        self, state: State, changed: WeakerRequest, source: CandidateSource
    ) -> Decision:
        now, request = self.clock.now(), changed.request
        try:
            selected = self.select(state, request, source, changed.driver, now)
        except NoValidHost as refusal:
            return replace(self._failed(request, refusal), revision=state.revision)
        feasible = selected.feasible
        return replace(
            self.draft(state, request, feasible, now),
            scores=Scoreboard(state, feasible, now, None).scores(),
            chosen=selections(
                state, request, feasible, selected.picks, selected.spare, now
            ),
        )

    def _capacity_on(
        self, state: State, spec: RequestSpec, source: CandidateSource
    ) -> Capacity:
        check_names(state, spec, self.driver)
        given, now = (state, spec, source, self.driver), self.clock.now()
        budget, give_way = self.search_budget, self.plugins.give_way
        return capacity(*given, now=now, budget=budget, give_way=give_way)

    # -- records ------------------------------------------------------------------

    def record_failure(
        self,
        request: ScheduleRequest,
        failure: NoValidHost | PluginFailed,
        began: float,
        stages: Sequence[StageTime] = (),
    ) -> None:
        """Refusals of claims, and plug-ins that fail, are recorded. ``began``: by
        ``clock.monotonic``."""
        found = self._failed(request, failure)
        is_decided = isinstance(failure, NoValidHost)
        took = {"decide": self.clock.monotonic() - began}
        kept = self.records.kept(request)
        found = replace(found, timings=took if is_decided else {}, request=kept)
        user = request.user_id
        self.records.add(found, is_decided=is_decided, stages=stages, user_id=user)

    def _failed(
        self, request: ScheduleRequest, refusal: NoValidHost | PluginFailed
    ) -> Decision:
        return decision_record.failed(
            request,
            refusal,
            revision=self.reader.revision,
            at=self.clock.now(),
            driver=self.driver.name,
        )
