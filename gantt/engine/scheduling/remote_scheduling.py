"""Scheduling where a remote Placement decides amounts.

    questions -> candidates from there -> hosts picked here -> a leased claim here
    -> one write there for all instances -> the claim is confirmed

Apart from scheduling on the books in this process, because another service is asked in
between: never under a lock, and with a claim here first, so that nothing is left there
that nobody remembers. The claim comes with what it is about to write; whoever finds it
over, in whatever process, gives that back.
"""

from __future__ import annotations

import logging
import uuid as uuids
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from gantt.engine.scheduling.remote_books import RemoteBooks
from gantt.engine.scheduling.remote_claims import Outcome, RemoteClaims, without
from gantt.engine.scheduling.scheduling import Scheduling
from gantt.engine.threads import Threads
from gantt.errors import (
    ClaimExpired,
    ClaimLost,
    Forbidden,
    GanttError,
    NotFound,
    NoValidHost,
    Refused,
)
from gantt.model import commands as c
from gantt.model.answers import Claimed
from gantt.model.holding import Held, Holding, holding, read_holding
from gantt.model.rows import ClaimRow
from gantt.model.scheduling import Selections
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.rules.claims import check_owner
from gantt.placement.rules.leases import is_unsettled
from gantt.scheduler.request.job import Job, prepare
from gantt.state.fleet_tables import Claims
from gantt.state.state import State

LOG = logging.getLogger(__name__)
_MICRO: Final = 1_000_000
_SETTLED_AT_ONCE: Final = 100
# Hints that look at hosts which a sample might miss.
_WIDE_HINTS: Final = frozenset({"group", "same_host", "different_host"})


class RemoteScheduling(Scheduling):
    """As ``Scheduling``, and elsewhere where ``placement`` says so."""

    _remote: RemoteClaims | None = None

    def _ask_elsewhere(self, books: RemoteBooks | None, threads: Threads) -> None:
        """``books`` decide amounts from now on. Raises Refused when the options want
        others."""
        where = self._policy.placement
        if (books is None) != (where == "embedded"):
            raise Refused(
                f"placement of [scheduler] is {where!r}, and "
                f"{'no client for it' if books is None else books.url} was given: "
                "open the engine with gantt.connection.open_gantt, which creates one."
            )
        if books is not None:
            self._remote = RemoteClaims(books, self._wall, self._dice, threads)

    def _stop_asking(self) -> None:
        if self._remote is not None:
            self._remote.books.close()

    def release_claim(self, claim: str) -> None:
        try:
            super().release_claim(claim)
        except NotFound:
            if not self.glance(_is_over, claim):
                raise
        try:
            self._settle(claim)
        except GanttError as error:
            LOG.warning("claim %s is released; will retry there: %s", claim, error)

    def expire_claims(self) -> int:
        expired = super().expire_claims()
        if self._remote is not None:
            self._settle()
        return expired

    def _has_unsettled(self, claims: Claims, now: int) -> bool:
        """Whether a claim is over that nobody gives back now, and this could."""
        if self._remote is None:
            return False
        over, for_us = claims.over(), self._settle_us
        return any(is_unsettled(row, now, for_us) for row in over)

    # -- deciding -----------------------------------------------------------------

    def _ready(self, spec: RequestSpec, request_id: str = "") -> Job | None:
        if not self._asks_remote(spec):
            return None
        assert self._remote is not None
        job: Job = self.glance(
            prepare, spec, self._policy, by_books=True, is_remote=True
        )
        limit = self._policy.max_placement_results
        if not _WIDE_HINTS.isdisjoint(spec.scheduler_hints):
            limit = None
        questions = [replace(one, limit=limit) for one in job.questions]
        return replace(job, listing=self._remote.ask(questions, request_id))

    def _asks_remote(self, spec: RequestSpec) -> bool:
        is_asked = self._remote is not None and not spec.is_rebuild
        return is_asked and self._policy.use_placement != "never"

    # -- claiming -----------------------------------------------------------------

    def _place(self, request: ScheduleRequest) -> Selections:
        if not self._asks_remote(request.spec):
            return super()._place(request)
        held: dict[str, Held] = {}
        reason: object = None
        attempt = misses = 0
        while misses < self._policy.claim_attempts:
            since = self._wall.monotonic()
            job = self._ready_or_refused(request)
            timings = {"candidates": self._wall.monotonic() - since}
            lost: frozenset[str] = frozenset()
            while misses < self._policy.claim_attempts:
                attempt += 1
                try:
                    less = replace(job, listing=without(job.listing, lost))
                    found = self._try(request, less, held, attempt, timings)
                except NoValidHost as refusal:
                    if not lost:
                        raise self._refused(request, refusal) from None
                    # Others filled what was listed: see what there is now.
                    reason, misses = refusal, misses + 1
                    break
                except ClaimLost as error:
                    reason, misses = error, misses + 1
                    self._lost += 1
                    continue
                if not isinstance(found, Outcome):
                    return found
                reason = found.reason
                self._lost += 1
                lost |= found.lost
                held.update(found.held or {})
                misses += not found.lost
        raise self._refused(
            request,
            NoValidHost(
                f"No valid host was found. In {attempt} attempts concurrent "
                f"claims won each time; last reason: {reason}"
            ),
        )

    def _ready_or_refused(self, request: ScheduleRequest) -> Job:
        try:
            job = self._ready(request.spec, request.request_id)
        except NoValidHost as refusal:
            raise self._refused(request, refusal) from None
        assert job is not None
        return job

    def _try(
        self,
        request: ScheduleRequest,
        job: Job,
        held: dict[str, Held],
        attempt: int,
        timings: dict[str, float],
    ) -> Selections | Outcome:
        """Pick, claim here, write there, confirm. Raises NoValidHost, ClaimLost;
        Unavailable: what was written there is not known."""
        started = self._wall.monotonic()
        self._end_old(request)
        chosen = self.glance_long(self._pick, request, str(uuids.uuid4()), job)
        decided = self._wall.monotonic()
        command = self._leased(chosen.claim, held)
        claimed: Claimed = self.submit(command, request.request_id)
        outcome = self._write(request, command, claimed, decided)
        if not outcome.is_done:
            return outcome
        timings = {
            **timings,
            "decide": decided - started,
            "claim": self._wall.monotonic() - decided,
        }
        try:
            return self._conclude(request, chosen, claimed, attempt, timings)
        except BaseException:
            # A host was deleted right after it was claimed, or a plugin failed that
            # sets limits: nobody hears of the claim, so none is kept.
            with suppress(NotFound):
                self.release_claim(command.claim)
            self._return(_wanted(command, claimed), command.claim)
            raise

    def _end_old(self, request: ScheduleRequest) -> None:
        """Claims of the same instances that were never confirmed end first: they may
        hold something. Raises Unavailable; Forbidden: one is of another project."""
        for claim in self.glance(_pending, request):
            with suppress(NotFound):
                super().release_claim(claim)
            self._settle(claim)

    def _leased(self, claim: c.Claim, held: dict[str, Held]) -> c.Claim:
        instances = tuple(
            replace(one, held=held.get(one.instance_uuid)) for one in claim.instances
        )
        lease = int(self._policy.placement_lease_s * _MICRO)
        return replace(claim, instances=instances, leased_for_us=lease, is_remote=True)

    def _write(
        self,
        request: ScheduleRequest,
        command: c.Claim,
        claimed: Claimed,
        since: float,
    ) -> Outcome:
        """Write what is claimed there, and confirm or drop the claim. Raises Forbidden,
        NoValidHost (nothing will help), ClaimLost; Unavailable, and leaves the claim to
        its lease."""
        assert self._remote is not None
        wanted = _wanted(command, claimed)
        own, policy = command.only_project, self._policy
        deadline = since + policy.placement_lease_s - policy.placement_timeout_s
        outcome = self._remote.write(
            wanted, own, request_id=request.request_id, deadline=deadline
        )
        if not outcome.is_done:
            self.submit(c.DropClaim(command.claim))
            if isinstance(outcome.reason, Forbidden):
                raise outcome.reason
            if not outcome.lost and outcome.held is None:
                raise _none_by(outcome.reason)
            return outcome
        lease = request.lease_s
        again = None if lease is None else int(lease * _MICRO)
        try:
            self.submit(c.ConfirmClaim(command.claim, again))
        except ClaimExpired as error:
            self._return(wanted, command.claim)
            raise ClaimLost(str(error)) from error
        return outcome

    def _return(self, wanted: dict[str, Holding], claim: str) -> None:
        """Give back there what was written for a claim that holds nothing here any
        more. What cannot be given back now is told in the log."""
        assert self._remote is not None
        taken = self.glance(_owned_by_others, wanted, claim)
        for uuid in sorted(wanted.keys() - taken):
            try:
                self._remote.give_back(uuid, wanted[uuid])
            except GanttError as error:
                LOG.error(
                    "instance %s keeps the allocations of claim %s in the remote "
                    "Placement, although the claim has ended: %s If they remain, "
                    "delete them there.",
                    uuid,
                    claim,
                    error,
                )

    # -- what is over -------------------------------------------------------------

    @property
    def _settle_us(self) -> int:
        """Who gives back what is over has so long for it."""
        return int(4 * max(self._policy.placement_timeout_s, 1.0) * _MICRO)

    def _settle(self, claim: str | None = None) -> None:
        """Give back what claims that are over hold elsewhere, and forget them. Raises
        Unavailable: the rest is left for later."""
        if not self.glance(_is_any_over):
            return
        rows: tuple[ClaimRow, ...] = self.submit(
            c.SettleClaims(self._settle_us, claim, _SETTLED_AT_ONCE)
        )
        deadline = self._wall.monotonic() + self._settle_us / _MICRO / 2
        for name, kin in groupby(rows, lambda row: row.claim):
            mine = tuple(kin)
            if self._wall.monotonic() < deadline:
                self._give_back(mine)
                names = frozenset(row.instance_uuid for row in mine)
                self.submit(c.DropClaim(name, names))

    def _give_back(self, rows: Iterable[ClaimRow]) -> None:
        for row in rows:
            if self._remote is None:
                LOG.warning(
                    "claim %s of instance %s was made with a remote Placement, "
                    "and none is configured now: check whether it still has "
                    "allocations there",
                    row.claim,
                    row.instance_uuid,
                )
            elif row.remote is not None:
                self._remote.give_back(row.instance_uuid, read_holding(row.remote))


def _none_by(reason: GanttError | None) -> NoValidHost:
    why = "" if reason is None else f" {reason.public}"
    return NoValidHost(f"No valid host was found.{why}")


def _wanted(command: c.Claim, claimed: Claimed) -> dict[str, Holding]:
    """What the remote Placement is to hold, as the claim remembers it."""
    return {
        one.instance_uuid: holding(
            one.choices[taken].allocations,
            one.held,
            project_id=command.project_id,
            user_id=command.user_id,
        )
        for one, taken in zip(command.instances, claimed.taken, strict=True)
    }


def _pending(state: State, request: ScheduleRequest) -> list[str]:
    """The claims of instances that may hold something elsewhere, unconfirmed. Raises
    Forbidden."""
    claims = state.fleet.claims.by_instance
    instance_uuids = request.instance_uuids or ()
    if request.only_project is not None:
        check_owner(state, instance_uuids, request.only_project)
    rows = (claims.get(uuid) for uuid in instance_uuids)
    found = (
        row.claim
        for row in rows
        if row is not None and row.remote is not None and row.leased_until is not None
    )
    return list(dict.fromkeys(found))


def _owned_by_others(
    state: State, instance_uuids: Iterable[str], claim: str
) -> set[str]:
    """Those of the instances that another claim is about."""
    claims = state.fleet.claims.by_instance
    return {
        uuid
        for uuid in instance_uuids
        if uuid in claims and claims[uuid].claim != claim
    }


def _is_over(state: State, claim: str) -> bool:
    return any(row.is_over for row in state.fleet.claims.of(claim))


def _is_any_over(state: State) -> bool:
    return bool(state.fleet.claims.over())
