"""Where time enters the engine, and nowhere else: a simulation can replace it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

ASK_EVERY_S: Final = 10.0
"""For so long the time at the database is counted on without asking again."""


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC; may jump."""

    def monotonic(self) -> float:
        """Seconds that never run backwards."""

    def sleep(self, seconds: float) -> None:
        """Block this thread for so long."""


class BooksClock:
    """The time at the database, which all of an engine goes by: what one process writes
    down another reads, and clocks of machines differ.

    A database with a clock is asked with each batch and now and then; in between, the
    monotonic clock of the process counts on from there.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read: tuple[int, float] | None = None
        self._asked_at: float | None = None
        self._ahead_us = 0
        self.now = clock.now  # until the database is known to have a clock
        self.monotonic = clock.monotonic
        self.sleep = clock.sleep

    def learn(self, database_now: int) -> None:
        """The time now, in microseconds."""
        self._asked_at = self._clock.monotonic()
        self._read = (database_now, self._asked_at)
        self._ahead_us = self._clock.now() - database_now
        self.now = self._counted_on

    def refresh(self, ask: Callable[[], int | None]) -> None:
        """Learn what ``ask`` says, if that was not done just now. Raises its errors."""
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at >= ASK_EVERY_S:
            self._asked_at, told = now, ask()
            if told is not None:
                self.learn(told)

    def _counted_on(self) -> int:
        """The time as far as it is known without asking the database."""
        assert self._read is not None
        read, since = self._read
        return read + int((self._clock.monotonic() - since) * 1_000_000)

    @property
    def is_own(self) -> bool:
        """Whether it is the clock of the process: the database has none."""
        return self._read is None

    @property
    def ahead_s(self) -> float:
        """By how much the clock of the process was ahead of the database's when that
        was asked last; negative: behind."""
        return self._ahead_us / 1_000_000


class SystemClock:
    monotonic: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def now(self) -> int:
        return time.time_ns() // 1000
