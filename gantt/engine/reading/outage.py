"""Logs an outage of the database: its beginning, that it continues, its end.

Separate from what detects it (readers, the committer, the poller, leader tasks, the
door): each of them would log the same repeatedly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.threads import Threads

LOG = logging.getLogger(__name__)

REMIND_S: Final = 60.0
"""Between two lines about the same outage."""

OVER_S: Final = 2 * REMIND_S
"""After so long without another failure an outage counts as over, though no query has
shown its end."""

Kind = Literal["read", "write"]
_IS: Final[dict[Kind, str]] = {"read": "is away", "write": "takes no writes"}
_HAS: Final[dict[Kind, str]] = {
    "read": "has been away",
    "write": "has taken no writes",
}
_AGAIN: Final[dict[Kind, str]] = {"read": "is back", "write": "takes writes again"}


class _Spell(Struct):
    """An outage of one kind, from its first failure."""

    since: float
    failed_at: float
    told_at: float
    refused: int = 0


class Outage:
    """Safe for many threads. Reads and writes fail independently: a full disk, or a
    database that is read-only, can still be read. Writes that fail while reads do are
    part of that outage."""

    def __init__(self, what: str, clock: Clock, threads: Threads) -> None:
        self._what = what
        self._clock = clock
        self._lock = threads.lock()
        self._spells: dict[Kind, _Spell] = {}

    def is_on(self, *kinds: Kind) -> bool:
        """Whether one of ``kinds`` (none given: any) failed last, and not long ago."""
        with self._lock:
            now = self._clock.monotonic()
            return any(self._lasting(kind, now) for kind in kinds or ("read", "write"))

    def failed(self, kind: Kind, error: BaseException) -> None:
        """An operation failed."""
        with self._lock:
            now = self._clock.monotonic()
            spell = self._lasting(kind, now)
            if spell is not None:
                spell.failed_at = now
                self._remind(kind, spell, now, error)
            elif kind == "read" or self._lasting("read", now) is None:
                self._spells[kind] = _Spell(now, now, now)
                LOG.error(
                    "%s %s: %s (Told once; then every %d s while it lasts.)",
                    self._what,
                    _IS[kind],
                    error,
                    REMIND_S,
                )

    def refuses(self, error: BaseException) -> bool:
        """Whether this error is part of an outage that is logged already; then it
        counts as a request refused because of it."""
        if not self._spells:  # what almost every caller finds
            return False
        with self._lock:
            now = self._clock.monotonic()
            for kind in ("read", "write"):
                if (spell := self._lasting(kind, now)) is not None:
                    spell.refused += 1
                    self._remind(kind, spell, now, error)
                    return True
            return False

    def succeeded(self, kind: Kind) -> None:
        """An operation succeeded, which ends an outage of this kind only."""
        if kind not in self._spells:  # what almost every caller finds
            return
        with self._lock:
            now = self._clock.monotonic()
            is_lasting = self._lasting(kind, now) is not None
            spell = self._spells.pop(kind, None)
            if spell is None:
                return
            if is_lasting:
                length = f"after {now - spell.since:.1f} s"
            else:  # its end is unknown
                length = (
                    f"(failures over {spell.failed_at - spell.since:.1f} s, the last "
                    f"{now - spell.failed_at:.0f} s ago)"
                )
            LOG.warning(
                "%s %s %s; %d requests were refused meanwhile",
                self._what,
                _AGAIN[kind],
                length,
                spell.refused,
            )

    def _lasting(self, kind: Kind, now: float) -> _Spell | None:
        spell = self._spells.get(kind)
        is_over = spell is None or now - spell.failed_at > OVER_S
        return None if is_over else spell

    def _remind(
        self, kind: Kind, spell: _Spell, now: float, error: BaseException
    ) -> None:
        if now - spell.told_at >= REMIND_S:
            spell.told_at = now
            LOG.error(
                "%s %s for %.0f s; %d requests were refused so far: %s",
                self._what,
                _HAS[kind],
                now - spell.since,
                spell.refused,
                error,
            )


IsAway = Callable[[], bool]
"""Whether a failure is part of an outage, which is logged elsewhere."""


def not_away() -> bool:
    """Each failure is logged where it occurs."""
    return False
