"""One request for hosts, from its question to its answer: a plain loop.

ask      what each host can supply: our books, or a remote Placement
plan     a host for every instance (``scheduler.cycle``: pure, on the newest State)
submit   one claim for all instances, which the committer checks again
bind     it is written where amounts are stored, and confirmed
answer   the selections, and the record
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

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
from gantt.model.selection import Decision, Why
from gantt.model.spec import ScheduleRequest
from gantt.placement.candidates.combination import Budget, Spent
from gantt.scheduler.cycle import feasible_for
from gantt.scheduler.evaluation.feasible_hosts import FeasibleHosts
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.scheduler.feasibility.candidate_sources import CandidateSource, Stale
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.joint.joint_search import CUT, JointItem, JointSearch
from gantt.scheduler.pauses import Pause, RowsMoved, RowValidity, never
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.selection.answer import repeated
from gantt.scheduler.selection.claim import claim_of, repeat_of
from gantt.scheduler.selection.held_hosts import hold_firm
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.picks import InstancePicks
from gantt.scheduler.stages import OTHER
from gantt.state.state import State

LOG = logging.getLogger(__name__)


class Planned(Struct, frozen=True):
    """A decision made under the lock, and the claim that holds its hosts.
    ``recorded``: its number in the record; None: it is in none."""

    request: ScheduleRequest
    feasible: FeasibleHosts
    picks: list[list[Pick]]
    spare: tuple[Pick, ...]
    claim: Claim
    draft: Decision
    board: Scoreboard
    recorded: int | None

    @property
    def hosts(self) -> set[str]:
        """The names of the hosts that were picked first."""
        return {host for host, _ in self.places}

    @property
    def places(self) -> list[tuple[str, str]]:
        """Host and node that were picked first, for each instance."""
        hosts = self.feasible.hosts.fleet.hosts
        rows = [first.row for first, *_ in self.picks]
        return [(hosts.hosts[row], hosts.nodes[row]) for row in rows]


class RequestSet(Protocol):
    """What is placed together: one request, or several."""

    @property
    def is_several(self) -> bool:
        """Whether there are several."""

    def requests(self, state: State) -> tuple[Sequence[ScheduleRequest], str]:
        """In the order of their answers, and the name of all of their claims."""

    def order(self, counts: Sequence[int]) -> list[int]:
        """By their numbers, which is decided first. ``counts``: of each, how many hosts
        there are for it."""

    def beside(
        self, request: ScheduleRequest, number: int, planned: Mapping[int, Planned]
    ) -> ScheduleRequest:
        """One of these, by its number, where others are planned."""

    def joint_item(
        self, state: State, number: int, feasible: FeasibleHosts
    ) -> JointItem:
        """One of these, by its number, for the search for all at once."""

    def broken(self, state: State, planned: Sequence[Planned]) -> tuple[int, str]:
        """What all together do not keep that they must, of which of them; "": they
        keep it all."""

    def submit(self, committer: Committer, planned: list[Planned]) -> Sequence[Claimed]:
        """Reserve all of it. Raises ClaimLost."""


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
        run = Run(at, at.amounts(request), request)
        try:
            (found,) = placed(run, run.amounts, at.options.claim_attempts)
            return found
        except (NoValidHost, PluginFailed) as failure:
            if isinstance(failure, NoValidHost):
                known = run.known(failure, request)
                if known:
                    return known
            run.refuse(failure, request)
            raise


def placed(run: Run, amounts: AmountSource, claim_attempts: int) -> list[Selections]:
    """A host for every instance of each request, claimed and bound. A claim that is
    lost to another is decided again, ``claim_attempts`` times in all. Raises
    NoValidHost, PluginFailed, and what the amounts' source raises."""
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
        try:
            reserved = run.submit(planned)
            for one, held in zip(planned, reserved, strict=True):
                amounts.bind(one.claim, held)
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
            for one, held in zip(planned, reserved, strict=True):
                amounts.unreserve(one.claim, held)
            if not isinstance(error, ClaimLost):
                raise
            reason, lost = error, lost + 1
    raise NoValidHost(
        f"No valid host was found. In {tried} attempts concurrent claims were first; "
        f"last reason: {reason}"
    )


class Run:
    """A request in the cycle, or a set of them, and how long its stages took;
    ``stages``: those of the pure part, None where the observer does not ask for them.
    ``deciding``: which of the set is being decided, or was last."""

    def __init__(
        self,
        at: Scheduling,
        amounts: AmountSource,
        asked: ScheduleRequest | RequestSet,
    ) -> None:
        self.at = at
        self.amounts = amounts
        self._asked = asked
        self.began = self._started = self._planned = at.clock.monotonic()
        self.deciding = 0
        asks = at.records.observer.times_stages
        is_timed = asks is not None and asks()
        self._stages = StageTimes(at.clock) if is_timed else None

    def plan(self, source: CandidateSource) -> list[Planned]:
        """Hosts for all instances, and the claims that hold them."""
        at = self.at
        self._started = at.clock.monotonic()
        asked = self._asked
        is_one = isinstance(asked, ScheduleRequest) or not asked.is_several
        plan = at.plugins.decided(self._plan_on if is_one else self._plan_all)
        planned = at.reader.search(plan, source, consistency=Consistency.ASSUMED)
        self._planned = at.clock.monotonic()
        return planned

    def _plan_all(self, state: State, source: CandidateSource) -> list[Planned]:
        """Several: one after the other or, where that finds no place, all at once."""
        try:
            return self._plan_on(state, source, explains=False)
        except NoValidHost:
            picks, is_cut = list[InstancePicks](), False
            with suppress(NoValidHost):
                picks, is_cut = self._at_once(state, source)
        if picks:
            self.at.driver.joint_found += 1
            return self._plan_on(state, source, picks)
        try:
            return self._plan_on(state, source)
        except NoValidHost as refusal:
            if not is_cut:
                raise
            why = refusal.why if isinstance(refusal.why, Why) else Why()
            why = replace(why, related=(*why.related, CUT))
            raise NoValidHost(f"{refusal.message} {CUT}", why) from None

    def _plan_on(
        self,
        state: State,
        source: CandidateSource,
        picks: Sequence[InstancePicks] = (),
        *,
        explains: bool = True,
    ) -> list[Planned]:
        """One request after the other. ``picks``: what was found for each of them, if
        it was. Raises NoValidHost."""
        at, now, mark = self.at, self.at.clock.now(), self._stages
        found: dict[int, Planned] = {}
        firm: dict[int, HeldHost] = {}
        turns: Iterable[tuple[int, ScheduleRequest, str]]
        asked = self._asked
        if isinstance(asked, ScheduleRequest):
            turns = ((0, asked, new_uuid()),)
        else:
            turns = self._turns(asked, state, source, now, found)
        for self.deciding, request, name in turns:
            given = state, request, source, at.driver, now, mark, firm
            try:
                selected = (
                    picks[self.deciding]
                    if picks
                    else at.select(*given, explains=explains)
                )
            finally:
                if mark is not None:
                    mark(OTHER)
            feasible = selected.feasible
            found[self.deciding] = Planned(
                request,
                feasible,
                selected.picks,
                selected.spare,
                claim_of(request, feasible, selected.picks, name, selected.domains),
                at.draft(state, request, feasible, now),
                Scoreboard(state, feasible, now, at.options.record_hosts),
                None if at.recording is None or picks else at.recording.last,
            )
            if not isinstance(asked, ScheduleRequest):
                hold_firm(firm, feasible.taken, selected.picks)
        planned = list(map(found.__getitem__, sorted(found)))
        if not isinstance(asked, ScheduleRequest):
            self.deciding, broken = asked.broken(state, planned)
            if broken:
                raise NoValidHost(broken, Why())
        return planned

    def _at_once(
        self, state: State, source: CandidateSource
    ) -> tuple[list[InstancePicks], bool]:
        """Picks for all of a set together; none, and whether the search ended at its
        limit."""
        at, now, asked = self.at, self.at.clock.now(), self._asked
        if isinstance(asked, ScheduleRequest) or at.driver.chooser is not None:
            return [], False  # a driver of others alone says what is tried
        pause, items = self._pause(state), list[JointItem]()
        requests, _ = asked.requests(state)
        for number, request in enumerate(requests):
            pause()
            alone = asked.beside(request, number, {})
            feasible = self._feasible(state, alone, source, now)
            items.append(asked.joint_item(state, number, feasible))
        search = JointSearch(state, items, at.options.joint_steps, pause)
        try:
            return search.picks(), False
        except Spent:
            at.driver.joint_cut += 1
            return [], True

    def _turns(
        self,
        asked: RequestSet,
        state: State,
        source: CandidateSource,
        now: int,
        found: Mapping[int, Planned],
    ) -> Iterator[tuple[int, ScheduleRequest, str]]:
        """The scarcest of a set first, but what others must be near: what it leaves is
        left for the others."""
        requests, name = asked.requests(state)
        counts, pause = [0], never
        if len(requests) > 1:
            counts, pause = [], self._pause(state)
            for self.deciding, request in enumerate(requests):
                pause()
                counts.append(self._hosts_for(state, request, source, now))
        for number in asked.order(counts):
            self.deciding = number
            pause()
            yield number, asked.beside(requests[number], number, found), name

    def _pause(self, state: State) -> Pause:
        """Between two requests others decide, too: what was picked must still be known
        by its rows."""
        rows, give_way = RowValidity(state), self.at.plugins.give_way

        def paused() -> None:
            give_way()
            if not rows.holds(state):
                raise RowsMoved

        return paused

    def _hosts_for(
        self, state: State, request: ScheduleRequest, source: CandidateSource, now: int
    ) -> int:
        return len(self._feasible(state, request, source, now).hosts)

    def _feasible(
        self, state: State, request: ScheduleRequest, source: CandidateSource, now: int
    ) -> FeasibleHosts:
        budget = Budget(self.at.search_budget)
        return feasible_for(state, request, source, self.at.driver, now, budget)

    def submit(self, planned: list[Planned]) -> Sequence[Claimed]:
        """Reserve it. Raises ClaimLost."""
        committer, asked = self.at.committer, self._asked
        if isinstance(asked, ScheduleRequest):
            return (committer.submit(planned[0].claim, asked.request_id),)
        return asked.submit(committer, planned)

    def note_lost(self, why: Stale | ClaimLost) -> None:
        """Its places were lost to others, and it is decided again."""
        LOG.info("all places of an instance were lost, retrying: %s", why)
        self.at.lost += 1

    def answer(
        self, planned: list[Planned], reserved: Sequence[Claimed], tried: int
    ) -> list[Selections]:
        """The selections, and the records. Raises ClaimLost when a host is gone."""
        at, local = self.at, Consistency.LOCAL
        found: list[Selections] = []
        for one, held in zip(planned, reserved, strict=True):
            feasible = one.feasible
            chosen = at.reader.read(
                at.plugins.answered(feasible.policy),
                one.request,
                feasible,
                one.picks,
                one.spare,
                one.draft.at,
                held,
                consistency=local,
            )
            found += (chosen,)
        timings = {
            "decide": self._planned - self._started,
            "claim": at.clock.monotonic() - self._planned,
        }
        if isinstance(self.amounts, RemoteRequest):
            timings = {"candidates": self.amounts.listed_s, **timings}
        stages = () if self._stages is None else self._stages.since(self._started)
        for one, chosen in zip(planned, found, strict=True):
            record = replace(
                one.draft,
                chosen=chosen,
                attempts=tried,
                timings=timings,
                request=at.records.kept(one.request),
            )
            user = one.request.user_id
            at.records.add(record, one.board, stages=stages, user_id=user)
            if at.recording is not None:
                hosts = [first.service_host for first, *_ in chosen]
                at.recording.settled(one.recorded, hosts, tried)
        return found

    def known(
        self, failure: NoValidHost, request: ScheduleRequest
    ) -> Selections | None:
        """The answer of the same request before; None: there was none, or it cannot be
        told whether it still holds. Raises AlreadyClaimed, and then ``failure`` is
        recorded."""
        at = self.at
        given = at.reader, at.committer, request, at.driver.policy
        try:
            self.amounts.look_again()
            return known_answer(*given, at.clock.now())
        except Unavailable as error:
            LOG.info("cannot tell what an earlier claim holds: %s", error)
            return None
        except AlreadyClaimed:
            self.refuse(failure, request)
            raise

    def refuse(
        self, failure: NoValidHost | PluginFailed, request: ScheduleRequest
    ) -> None:
        """Record it."""
        stages = () if self._stages is None else self._stages.since(self.began)
        self.at.record_failure(request, failure, self.began, stages)


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
