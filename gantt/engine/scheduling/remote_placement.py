"""Amounts decided by a remote Placement.

    questions -> its candidates -> hosts selected here -> a leased claim here
    -> one write there for all instances -> the claim is confirmed

No request is sent under a lock. The local claim comes first, with what is about to be
written remotely, so that any process can release that once the claim has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.clock import Clock
from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.scheduling.claim_methods import ClaimMethods
from gantt.engine.scheduling.remote_claims import RemoteClaims, RemoteWrite
from gantt.engine.scheduling.settlement import Settlement, give_back
from gantt.errors import (
    ClaimExpired,
    ClaimLost,
    Conflict,
    Forbidden,
    GanttError,
    NotFound,
    NoValidHost,
)
from gantt.model import commands as c
from gantt.model.answers import Claimed
from gantt.model.holding import Held, Holding, holding
from gantt.model.request_identity import read_answered
from gantt.model.rows import BookingRow
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.placement.candidates.listing import CandidateListing
from gantt.placement.ownership import check_owner
from gantt.placement.rules.request_kind import RequestKind, answers, standing
from gantt.scheduler.feasibility.candidate_sources import (
    CandidateSource,
    ListedSource,
    Stale,
)
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.request.identity import identity_of
from gantt.scheduler.request.job import ClaimTerms, Job, prepare
from gantt.scheduler.request.segments import segments_of
from gantt.scheduler.selection.claim import lease_us
from gantt.state.state import State

LOG = logging.getLogger(__name__)
_MICRO: Final = 1_000_000
_PAUSE_S: Final = 0.05
_LOOKS: Final = 100
"""At a claim that is being written, before it is taken for one that was left."""
# Hints that depend on hosts which a sample might miss.
_WIDE_HINTS: Final = frozenset({"group", "same_host", "different_host"})


class RemotePlacement:
    """What the requests to one remote Placement share."""

    def __init__(
        self,
        reader: Reader,
        committer: Committer,
        clock: Clock,
        books: RemoteClaims,
        claims: ClaimMethods,
        settlement: Settlement,
    ) -> None:
        self.reader = reader
        self.committer = committer
        self.clock = clock
        self.books = books
        self.claims = claims
        self.settlement = settlement

    def decides(self, spec: RequestSpec, options: SchedulerOptions) -> bool:
        """Whether it decides ``spec``."""
        return not spec.is_rebuild and options.use_placement != "never"

    def request(
        self, request: ScheduleRequest, options: SchedulerOptions
    ) -> RemoteRequest:
        """One request: what was listed, and taken since."""
        return RemoteRequest(self, request, options)


class RemoteRequest:
    """The source of candidates and the binder of one request. ``listed_s``: how long
    the last listing took, in seconds."""

    def __init__(
        self, at: RemotePlacement, request: ScheduleRequest, options: SchedulerOptions
    ) -> None:
        self._at = at
        self._request = request
        self._options = options
        self._asked: tuple[Job, CandidateListing] | None = None
        self._segments: dict[str, frozenset[str]] = {}
        self._lost: frozenset[str] = frozenset()
        self._held: dict[str, Held] = {}
        self.listed_s = 0.0

    def ask(self, again: bool) -> CandidateSource:
        """The listed candidates, less what was taken since; ``again``: list them again.
        Raises NoValidHost, Invalid; Unavailable: an old claim of the same instances
        could not be released; Forbidden: it is of another project."""
        if again or self._asked is None:
            began = self._at.clock.monotonic()
            self._lost = frozenset()
            self._asked = self._fetch()
            self.listed_s = self._at.clock.monotonic() - began
        if self._request.is_claiming:
            self._end_old_claims()
        job, listing = self._asked
        lease = int(self._options.placement_lease_s * _MICRO)
        job = replace(job, terms=ClaimTerms(lease, dict(self._held)))
        found = listing.without(self._lost) if self._lost else listing
        spec, is_stale = self._request.spec, bool(self._lost)
        return ListedSource(spec, job, found, is_stale, self._segments)

    def _fetch(self) -> tuple[Job, CandidateListing]:
        spec, options = self._request.spec, self._options
        self._segments = self._at.books.aggregates(segments_of(spec, options))
        job = self._at.reader.read(
            partial(prepare, is_remote=True, listed=self._segments),
            spec,
            options,
            consistency=Consistency.ASSUMED,
        )
        limit = options.max_placement_results
        if not _WIDE_HINTS.isdisjoint(spec.scheduler_hints):
            limit = None
        questions = [replace(one, limit=limit) for one in job.questions]
        return job, self._at.books.ask(questions, self._request.request_id)

    def _end_old_claims(self) -> None:
        """Claims of the same instances that were never confirmed, or make way, end
        first: they may hold something. So do those that would be the answer, but hold
        nothing there any more: a move that failed is tried again. One that is being
        written for an equal request is waited for."""
        for _ in range(_LOOKS):
            old = self._look()
            if not old.is_awaited:
                break
            self._at.clock.sleep(_PAUSE_S)
        else:
            old = self._look()
        self._end([*old.ends, *self._emptied(old)])

    def look_again(self) -> None:
        """See ``scheduling.Books``."""
        self._end(self._emptied(self._look()))

    def _emptied(self, old: _Old) -> list[c.ReleaseClaim]:
        """The ends of claims that would be the answer, and hold nothing there any
        more."""
        return [
            _end_of(row)
            for row in old.answers
            if not self._at.books.has(
                row.instance_uuid, read_answered(row.answered or "").allocations
            )
        ]

    def _end(self, ends: Iterable[c.ReleaseClaim]) -> None:
        for one in ends:
            with suppress(NotFound):
                self._at.committer.submit(one)
            self._at.settlement.run(one.claim)

    def _look(self) -> _Old:
        return self._at.reader.read(
            _old_claims, self._request, consistency=Consistency.ASSUMED
        )

    def bind(self, claim: c.Claim, reserved: Claimed) -> None:
        """Write the claim remotely, and confirm it or drop it. Raises Stale, ClaimLost,
        Forbidden, NoValidHost (nothing will help); Unavailable, and leaves the claim to
        its lease."""
        if reserved.is_repeat:
            return
        wanted = _wanted(claim, reserved)
        outcome = self._at.books.write(
            wanted,
            claim.only_project,
            request_id=self._request.request_id,
            deadline=self._deadline(reserved),
        )
        if not outcome.is_done:
            self._at.committer.submit(c.DropClaim(claim.claim))
            raise self._unwritten(outcome)
        try:
            lease = lease_us(self._request)
            self._at.committer.submit(c.ConfirmClaim(claim.claim, lease))
        except ClaimExpired as error:
            self._return(wanted, claim.claim)
            raise ClaimLost(str(error)) from error

    def _deadline(self, reserved: Claimed) -> float:
        """When the last write may begin, by ``clock.monotonic``: its answer must come
        within the lease."""
        assert reserved.leased_until is not None, "the claim was leased"
        left_s = (reserved.leased_until - self._at.clock.now()) / _MICRO
        return self._at.clock.monotonic() + left_s - self._options.placement_timeout_s

    def _unwritten(self, outcome: RemoteWrite) -> Exception:
        reason = outcome.reason
        if isinstance(reason, Forbidden):
            return reason
        if outcome.lost:
            self._lost |= outcome.lost
            return Stale(reason)
        if outcome.held is None:
            text = "" if reason is None else f" {reason.public}"
            return NoValidHost(f"No valid host was found.{text}")
        self._held.update(outcome.held)
        return ClaimLost(str(reason))

    def unreserve(self, claim: c.Claim, reserved: Claimed) -> None:
        """End a confirmed claim that is not returned: its host was deleted right after
        it was claimed, or a plug-in that sets limits failed; one that was returned
        before stays."""
        if reserved.is_repeat:
            return
        with suppress(NotFound, Conflict):
            self._at.claims.release_claim(claim.claim)
        self._return(_wanted(claim, reserved), claim.claim)

    def _return(self, wanted: dict[str, Holding], claim: str) -> None:
        """Release remotely what was written for a claim that has ended here; what
        cannot be released now is logged."""
        taken = self._at.reader.read(
            _owned_by_others, wanted, claim, consistency=Consistency.ASSUMED
        )
        for uuid in sorted(wanted.keys() - taken):
            try:
                give_back(self._at.books, claim, uuid, wanted[uuid])
            except GanttError as error:
                LOG.error(
                    "instance %s keeps the allocations of claim %s in the remote "
                    "Placement, although the claim has ended: %s If they remain, "
                    "delete them there.",
                    uuid,
                    claim,
                    error,
                )


def _wanted(claim: c.Claim, reserved: Claimed) -> dict[str, Holding]:
    """What the remote Placement is to hold, as stored with the claim."""
    return {
        one.instance_uuid: holding(
            one.choices[taken].allocations,
            one.held,
            project_id=claim.project_id,
            user_id=claim.user_id,
        )
        for one, taken in zip(claim.instances, reserved.taken, strict=True)
    }


class _Old(Struct, frozen=True):
    """Claims that may hold something elsewhere: those that answer a request, and the
    ends of those that are unconfirmed or, for its instances, make way for it.
    ``is_awaited``: one is being written there for an equal request."""

    ends: tuple[c.ReleaseClaim, ...]
    answers: tuple[BookingRow, ...]
    is_awaited: bool


def _old_claims(state: State, request: ScheduleRequest) -> _Old:
    """Raises Forbidden, AlreadyClaimed."""
    claims = state.fleet.claims.by_instance
    instance_uuids = request.instance_uuids or ()
    if request.only_project is not None:
        check_owner(state, instance_uuids, request.only_project, also_running=False)
    ends, found, identity = [], [], identity_of(request)
    is_awaited = False
    for uuid in instance_uuids:
        its, row = standing(state, identity, uuid), claims.get(uuid)
        if row is None or row.remote is None:
            continue
        if its is RequestKind.REPEAT:
            found.append(row)
        elif row.leased_until is not None:
            is_writing = row.is_open and not row.is_over
            is_awaited |= is_writing and answers(row, identity)
            ends.append(c.ReleaseClaim(row.claim))
        elif its is RequestKind.REPLACE:
            ends.append(_end_of(row))
    return _Old(tuple(dict.fromkeys(ends)), tuple(found), is_awaited)


def _end_of(row: BookingRow) -> c.ReleaseClaim:
    """The command that ends the claim of this instance alone."""
    only = frozenset([row.instance_uuid])
    return c.ReleaseClaim(row.claim, instance_uuids=only)


def _owned_by_others(
    state: State, instance_uuids: Iterable[str], claim: str
) -> set[str]:
    """Those of the instances that have another claim."""
    claims = state.fleet.claims.by_instance
    return {
        uuid
        for uuid in instance_uuids
        if uuid in claims and claims[uuid].claim != claim
    }
