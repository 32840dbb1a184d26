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


class SystemClock:
    """The machine's own."""

    def now(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
