"""Ended claims that still hold something in a remote Placement."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from gantt.engine.reading.reader import Consistency
from gantt.engine.scheduling.remote_claims import RemoteClaims
from gantt.engine.scheduling.state_access import StateAccess, StateMethods
from gantt.model import commands as c
from gantt.model.holding import Amounts, Holding, read_holding
from gantt.model.rows import BookingRow
from gantt.placement.rules.leases import is_unsettled
from gantt.state.fleet_tables import BookingTable as BookingTable
from gantt.state.state import State

LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 100


class Settlement(StateMethods):
    """Releases what ended claims hold there. ``remote`` None: no remote Placement is
    configured now, though claims may be left of one. ``timeout_s``: of one request to
    it."""

    def __init__(
        self, state: StateAccess, remote: RemoteClaims | None, timeout_s: float
    ) -> None:
        super().__init__(state)
        self._remote = remote
        self._turn_s = 4 * max(timeout_s, 1.0)

    @property
    def _turn_us(self) -> int:
        """How long one process may take before another one tries."""
        return int(self._turn_s * 1_000_000)

    @property
    def is_possible(self) -> bool:
        """Whether a remote Placement is configured."""
        return self._remote is not None

    def is_due(self, claims: BookingTable, now: int) -> bool:
        """Whether this process could settle an ended claim that no other is
        settling."""
        if self._remote is None:
            return False
        return any(is_unsettled(row, now, self._turn_us) for row in claims.over())

    def run(self, claim: str | None = None) -> None:
        """Release what ended claims hold (``claim`` alone, or all of them), and drop
        them. Raises Unavailable: the rest is left for later."""
        if not self._reader.read(_has_ended_claims, consistency=Consistency.ASSUMED):
            return
        rows = self._committer.submit(c.SettleClaims(self._turn_us, claim, _AT_ONCE))
        deadline = self._clock.monotonic() + self._turn_s / 2
        for name, group in groupby(rows, lambda row: row.claim):
            mine = tuple(group)
            if self._clock.monotonic() < deadline:
                self._give_back(mine)
                names = frozenset(row.instance_uuid for row in mine)
                self._committer.submit(c.DropClaim(name, names))

    def left(self, rows: Iterable[BookingRow]) -> dict[str, Amounts]:
        """By instance, what is there of confirmed claims and is not theirs to release.
        Raises Unavailable, and whatever refuses to tell."""
        if self._remote is None:
            return {}
        found = {
            row.instance_uuid: self._remote.left(
                row.instance_uuid, read_holding(row.remote)
            )
            for row in rows
            if row.remote is not None and not row.is_open
        }
        return {uuid: amounts for uuid, amounts in found.items() if amounts}

    def _give_back(self, rows: Iterable[BookingRow]) -> None:
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
                made = read_holding(row.remote)
                give_back(self._remote, row.claim, row.instance_uuid, made)


def give_back(
    remote: RemoteClaims, claim: str, instance_uuid: str, made: Holding
) -> None:
    """Release there what ``claim``, which has ended, added for an instance. What
    another writer made of it stays and is logged, as nothing here remembers it. Raises
    Unavailable, and whatever refuses it."""
    left = remote.give_back(instance_uuid, made)
    if left:
        LOG.warning(
            "claim %s has ended, but its instance %s keeps allocations in the remote "
            "Placement, which another writer changed since (%s): if it does not run, "
            "delete them there",
            claim,
            instance_uuid,
            amounts_in_words(left),
        )


def amounts_in_words(amounts: Amounts) -> str:
    """The amounts of an instance, by provider, as a phrase."""
    return ", ".join(
        f"{amount} {name} on provider {provider}"
        for provider, shares in amounts.items()
        for name, amount in shares.items()
    )


def _has_ended_claims(state: State) -> bool:
    return bool(state.fleet.claims.over())
