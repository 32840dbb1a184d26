"""Claims by name: confirm, release, expire."""

from __future__ import annotations

import logging
from itertools import islice
from typing import Final

from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.settlement import Settlement, amounts_in_words
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.errors import Conflict, GanttError, NotFound
from gantt.model import commands as c
from gantt.model.forms import scalars
from gantt.model.names import canonical
from gantt.model.rows import BookingRow
from gantt.placement import fleet_queries
from gantt.state.state import State

LOG = logging.getLogger(__name__)
_MOST_NAMED: Final = 5


class ClaimMethods(StateMethods):
    """Existing claims."""

    def __init__(self, state: StateAccess, settlement: Settlement) -> None:
        super().__init__(state)
        self._settlement = settlement

    def confirm_claim(self, claim: str) -> None:
        """Raises NotFound, ClaimExpired."""
        self._committer.submit(c.ConfirmClaim(_name(claim)))

    def release_claim(self, claim: str) -> None:
        """Raises NotFound; Conflict: some of it was changed, and would stay. What
        cannot be released at a remote Placement now is released later."""
        claim = _name(claim)
        self._check_whole(claim)
        try:
            self._committer.submit(c.ReleaseClaim(claim))
        except NotFound:
            if not self._reader.read(
                _has_ended, claim, consistency=Consistency.ASSUMED
            ):
                raise
        try:
            self._settlement.run(claim)
        except GanttError as error:
            LOG.warning("claim %s is released; will retry there: %s", claim, error)

    def _check_whole(self, claim: str) -> None:
        """Raises Conflict, as the rule for releases does for the books here, where a
        remote Placement tells that something would stay."""
        rows = self._reader.read(_rows, claim, consistency=Consistency.ASSUMED)
        try:
            left = self._settlement.left(rows)
        except GanttError as error:
            LOG.debug("cannot tell what claim %s has there: %s", claim, error)
            return
        if left:
            words = "; ".join(
                f"{uuid} has {amounts_in_words(amounts)}"
                for uuid, amounts in islice(left.items(), _MOST_NAMED)
            )
            raise Conflict(
                f"Claim {claim} cannot be released: the allocations of {len(left)} of "
                "its instances were changed by another writer in the remote Placement "
                f"since, and would stay ({words}). Nothing was released. Delete the "
                "allocations of these instances there, then release the claim."
            )

    def claim_projects(self, claim: str) -> frozenset[str | None]:
        """The projects of its instances; None: not known. Empty: it has ended."""
        return self._reader.read(fleet_queries.claim_projects, _name(claim))

    def is_due(self) -> bool:
        """Whether ``expire`` has work, as far as this process knows."""
        return self._reader.read(
            self._is_due, self._clock.now(), consistency=Consistency.LOCAL
        )

    def _is_due(self, state: State, now: int) -> bool:
        claims = state.fleet.claims
        if claims.leased and min(claims.leased.values()) <= now:
            return True
        if any(True for _ in claims.due_plans(now)):
            return True
        return self._settlement.is_due(claims, now)

    def expire(self) -> int:
        """Release the leases that have ended; how many claims that were."""
        grace = int(self._checks.options.lease_skew_s * 1_000_000)
        names = int(self._checks.options.plan_names_s * 1_000_000)
        expired = self._committer.submit(
            c.ExpireClaims(grace_us=grace, plan_names_us=names)
        )
        if self._settlement.is_possible:
            self._settlement.run()
        return expired


def _name(claim: str) -> str:
    return canonical(scalars.name("claim", claim))


def _rows(state: State, claim: str) -> tuple[BookingRow, ...]:
    return tuple(state.fleet.claims.of(claim))


def _has_ended(state: State, claim: str) -> bool:
    return any(row.is_over for row in state.fleet.claims.of(claim))
