"""One request for hosts, from its question to its answer: a plain loop.

ask      what each host can supply: our books, or a remote Placement
plan     a host for every instance (``scheduler.cycle``: pure, on the newest State)
submit   one claim for all instances, which the committer checks again
bind     it is written where amounts are stored, and confirmed
answer   the selections, and the record
"""

from __future__ import annotations

import logging

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.scheduling.decider import AmountSource, Scheduling
from gantt.engine.scheduling.remote_placement import RemoteRequest
from gantt.engine.scheduling.stage_times import StageTimes
from gantt.engine.uuids import new_uuid
from gantt.errors import (
    AlreadyClaimed,
    ClaimLost,
    GanttError,
    NoValidHost,
    PluginFailed,
    Unavailable,
)
from gantt.model.answers import Claimed
from gantt.model.commands import Claim
from gantt.model.scheduling import Selections
from gantt.model.selection import Decision
from gantt.model.spec import ScheduleRequest
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.feasibility.candidate_sources import CandidateSource, Stale
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.selection.answer import repeated
from gantt.scheduler.selection.claim import claim_of, repeat_of
from gantt.scheduler.selection.picks import InstancePicks
from gantt.scheduler.stages import OTHER
from gantt.state.state import State

LOG = logging.getLogger(__name__)


class Planned(Struct, frozen=True):
    """A decision made under the lock, and the claim that holds its hosts.
    ``recorded``: its number in the record; None: it is in none."""

    selected: InstancePicks
    claim: Claim
    draft: Decision
    board: Scoreboard
    recorded: int | None


class SchedulingCycle:
    """Safe for many threads."""

    def __init__(self, scheduling: Scheduling) -> None:
        self._scheduling = scheduling

    def schedule(self, request: ScheduleRequest) -> Selections:
        """Hosts for all instances, claimed. Raises NoValidHost."""
        at = self._scheduling
        request = at.checked(request)
        if not request.is_claiming:
            return at.looked(request)
        run = _Run(at, request, at.amounts(request))
        try:
            return placed(run, run.amounts, at.options.claim_attempts)
        except (NoValidHost, PluginFailed) as failure:
            if isinstance(failure, NoValidHost) and (known := run.known(failure)):
                return known
            run.refuse(failure)
            raise


def placed(run: _Run, amounts: AmountSource, claim_attempts: int) -> Selections:
    """A host for every instance, claimed and bound. A claim that is lost to another is
    decided again, ``claim_attempts`` times in all. Raises NoValidHost, PluginFailed,
    and what the amounts' source raises."""
    tried = lost = 0
    is_again = False
    reason: GanttError | None = None
    while lost < claim_attempts:
        tried += 1
        source = amounts.ask(is_again)  # outside any lock
        is_again = False
        try:
            planned = run.plan(source)
        except NoValidHost as refusal:
            if not source.is_stale:
                raise
            reason, is_again, lost = refusal, True, lost + 1
            continue
        claim = planned.claim
        try:
            reserved = run.submit(claim)
            amounts.bind(claim, reserved)
        except Stale as stale:
            run.note_lost(stale)
            reason = stale.reason
            continue
        except ClaimLost as error:
            run.note_lost(error)
            reason, lost = error, lost + 1
            continue
        try:
            return run.answer(planned, reserved, tried)
        except BaseException as error:
            amounts.unreserve(claim, reserved)
            if not isinstance(error, ClaimLost):
                raise
            reason, lost = error, lost + 1
    raise NoValidHost(
        f"No valid host was found. In {tried} attempts concurrent claims were first; "
        f"last reason: {reason}"
    )


class _Run:
    """One request in the cycle, and how long its stages took; ``stages``: those of the
    pure part, None where the observer does not ask for them."""

    def __init__(
        self, at: Scheduling, request: ScheduleRequest, amounts: AmountSource
    ) -> None:
        self.at = at
        self.request = request
        self.amounts = amounts
        self.began = self._started = self._planned = at.clock.monotonic()
        asks = at.records.observer.times_stages
        is_timed = asks is not None and asks()
        self._stages = StageTimes(at.clock) if is_timed else None

    def plan(self, source: CandidateSource) -> Planned:
        """Hosts for all instances, and the claim that holds them."""
        at = self.at
        self._started = at.clock.monotonic()
        plan = at.plugins.decided(self._plan_on)
        planned = at.reader.search(plan, source, consistency=Consistency.ASSUMED)
        self._planned = at.clock.monotonic()
        return planned

    def _plan_on(self, state: State, source: CandidateSource) -> Planned:
        at, request = self.at, self.request
        now, mark = at.clock.now(), self._stages
        try:
            selected = at.select(state, request, source, at.driver, now, mark)
        finally:
            if mark is not None:
                mark(OTHER)
        feasible = selected.feasible
        return Planned(
            selected,
            claim_of(request, feasible, selected.picks, new_uuid()),
            at.draft(state, request, feasible, now),
            Scoreboard(state, feasible, now, at.options.record_hosts),
            None if at.recording is None else at.recording.last,
        )

    def submit(self, claim: Claim) -> Claimed:
        """Reserve it. Raises ClaimLost."""
        return self.at.committer.submit(claim, self.request.request_id)

    def note_lost(self, why: Stale | ClaimLost) -> None:
        """Its places were lost to others, and it is decided again."""
        LOG.info("all places of an instance were lost, retrying: %s", why)
        self.at.lost += 1

    def answer(self, planned: Planned, reserved: Claimed, tried: int) -> Selections:
        """The selections, and the record. Raises ClaimLost when a host is gone."""
        at, selected, draft = self.at, planned.selected, planned.draft
        found = at.reader.read(
            at.plugins.answered(selected.feasible.policy),
            self.request,
            selected.feasible,
            selected.picks,
            selected.spare,
            draft.at,
            reserved,
            consistency=Consistency.LOCAL,
        )
        timings = {
            "decide": self._planned - self._started,
            "claim": at.clock.monotonic() - self._planned,
        }
        if isinstance(self.amounts, RemoteRequest):
            timings = {"candidates": self.amounts.listed_s, **timings}
        record = replace(
            draft,
            chosen=found,
            attempts=tried,
            timings=timings,
            request=at.records.kept(self.request),
        )
        stages = () if self._stages is None else self._stages.since(self._started)
        user = self.request.user_id
        at.records.add(record, planned.board, stages=stages, user_id=user)
        if at.recording is not None:
            hosts = [one[0].service_host for one in found]
            at.recording.settled(planned.recorded, hosts, tried)
        return found

    def known(self, failure: NoValidHost) -> Selections | None:
        """The answer of the same request before; None: there was none, or it cannot be
        told whether it still holds. Raises AlreadyClaimed, and then ``failure`` is
        recorded."""
        at = self.at
        given = at.reader, at.committer, self.request, at.driver.policy
        try:
            self.amounts.look_again()
            return known_answer(*given, at.clock.now())
        except Unavailable as error:
            LOG.info("cannot tell what an earlier claim holds: %s", error)
            return None
        except AlreadyClaimed:
            self.refuse(failure)
            raise

    def refuse(self, failure: NoValidHost | PluginFailed) -> None:
        """Record it."""
        stages = () if self._stages is None else self._stages.since(self.began)
        self.at.record_failure(self.request, failure, self.began, stages)


def known_answer(
    reader: Reader,
    committer: Committer,
    request: ScheduleRequest,
    policy: Policy,
    now: int,
) -> Selections | None:
    """None: it was not made before. Raises AlreadyClaimed."""
    if not reader.read(_has_claims, request, consistency=Consistency.ASSUMED):
        return None
    try:
        claimed = committer.submit(repeat_of(request, new_uuid()), request.request_id)
    except ClaimLost:
        return None
    local = Consistency.LOCAL
    return reader.read(repeated, request, policy, claimed, now, consistency=local)


def _has_claims(state: State, request: ScheduleRequest) -> bool:
    known = state.fleet.claims.by_instance
    return any(uuid in known for uuid in request.names)
