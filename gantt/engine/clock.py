"""Where time enters the engine, and nowhere else: a simulation can replace it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC; may jump."""

    def monotonic(self) -> float:
        """Seconds that never run backwards."""

    def sleep(self, seconds: float) -> None:
        """Block this thread for so long."""


class BooksTime:
    """The time at the database: leases use it, because clocks of processes differ.

    A database with a clock is asked with each batch; in between, the monotonic clock
    of the process counts on from there.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read: tuple[int, float] | None = None

    def update(self, database_now: int | None) -> int:
        """The time now, in microseconds; ``database_now`` None: the database has no
        clock, so that it is the process's."""
        if database_now is None:
            return self._clock.now()
        self._read = (database_now, self._clock.monotonic())
        return database_now

    def now(self) -> int:
        """The time as far as it is known without asking the database."""
        if self._read is None:
            return self._clock.now()
        read, since = self._read
        return read + int((self._clock.monotonic() - since) * 1_000_000)


class SystemClock:
    monotonic: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def now(self) -> int:
        return time.time_ns() // 1000
