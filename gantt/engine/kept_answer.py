"""The last answer to a long question, for those who ask it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from gantt.engine.clock import Clock
from gantt.engine.threads import Threads

T = TypeVar("T")


class KeptAnswer(Generic[T]):
    """Safe for many threads: those who ask at the same time share one answer."""

    def __init__(self, clock: Clock, threads: Threads) -> None:
        self._clock = clock
        self._turn = threads.lock()
        self._known: tuple[Hashable, int, T] | None = None

    def get(self, asked: Hashable, age_us: int, find: Callable[[int], T]) -> T:
        """What ``find(now)`` said no longer before the call than ``age_us``, or says
        now. Raises what it raises."""
        began = self._clock.now()
        with self._turn:
            now = self._clock.now()
            if self._known is not None:
                known, at, found = self._known
                if known == asked and began - age_us < at <= now:
                    return found
            found = find(now)
            self._known = asked, now, found
            return found
