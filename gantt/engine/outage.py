"""What is told of a database that is away: when it began, that it goes on, its end.

Apart from those who notice, which are many (readers, the gate, the poller, chores, the
door): each of them would tell the same, again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Literal

from gantt.engine.clock import Clock
from gantt.engine.threads import Threads

LOG = logging.getLogger(__name__)

REMIND_S: Final = 60.0
"""Between two lines about the same outage."""

Kind = Literal["read", "write"]


class Outage:
    """Safe for many threads. An outage of reads is one of writes as well; one of writes
    alone (a full disk, a database that is read-only) does not end with a good read."""

    def __init__(self, what: str, clock: Clock, threads: Threads) -> None:
        self._what = what
        self._clock = clock
        self._lock = threads.lock()
        self._kind: Kind | None = None
        self._since = self._told_at = 0.0
        self._refused = 0

    @property
    def is_on(self) -> bool:
        """Whether the last that was heard is a failure."""
        return self._kind is not None

    def failed(self, kind: Kind, error: BaseException) -> None:
        """It did not do what was asked of it."""
        with self._lock:
            now = self._clock.monotonic()
            if self._kind is None:
                self._kind, self._refused = kind, 0
                self._since = self._told_at = now
                LOG.error(
                    "%s is away: %s (Told once; then every %d s until it is back.)",
                    self._what,
                    error,
                    REMIND_S,
                )
                return
            if kind == "read":
                self._kind = kind
            self._remind(now, error)

    def refuses(self, error: BaseException) -> bool:
        """Whether this error is part of an outage that is told already; then it counts
        as a request refused because of it."""
        with self._lock:
            if self._kind is None:
                return False
            self._refused += 1
            self._remind(self._clock.monotonic(), error)
            return True

    def succeeded(self, kind: Kind) -> None:
        """It did what was asked of it."""
        if self._kind is None:  # what almost every caller finds
            return
        with self._lock:
            if self._kind is None or (kind, self._kind) == ("read", "write"):
                return
            self._kind = None
            LOG.warning(
                "%s is back after %.1f s; %d requests were refused meanwhile",
                self._what,
                self._clock.monotonic() - self._since,
                self._refused,
            )

    def _remind(self, now: float, error: BaseException) -> None:
        if now - self._told_at >= REMIND_S:
            self._told_at = now
            LOG.error(
                "%s has been away for %.0f s; %d requests were refused so far: %s",
                self._what,
                now - self._since,
                self._refused,
                error,
            )


IsAway = Callable[[], bool]
"""Whether what somebody met is an outage that is told elsewhere."""


def not_away() -> bool:
    """Each failure is told by whoever meets it."""
    return False
