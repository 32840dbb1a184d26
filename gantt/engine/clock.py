"""Where time enters the engine, and nowhere else, so that a simulation can own it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC; may jump."""

    def monotonic(self) -> float:
        """Seconds that never run backwards."""

    def sleep(self, seconds: float) -> None:
        """Let other threads go on for so long."""


class BooksTime:
    """What time it is where the books are: leases go by that, and processes differ.

    A database with a clock of its own tells at each batch; in between the steady clock
    counts on from there.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: tuple[int, float] | None = None

    def hear(self, database_now: int | None) -> int:
        """The time now; None: the database has no clock, so it is the process's."""
        if database_now is None:
            return self._clock.now()
        self._told = (database_now, self._clock.monotonic())
        return database_now

    def now(self) -> int:
        """The time as far as it is known without asking."""
        if self._told is None:
            return self._clock.now()
        told, since = self._told
        return told + int((self._clock.monotonic() - since) * 1_000_000)


class SystemClock:
    """The machine's own."""

    def now(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
