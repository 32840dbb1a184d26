"""When the stages of a decision began and ended, for an observer that asks for it."""

from __future__ import annotations

from collections import deque
from typing import Final

from gantt.engine.clock import Clock
from gantt.engine.observer import StageTime
from gantt.scheduler.stages import OTHER

# A claim may be tried many times; the latest stages are those of its outcome.
_MOST: Final = 64


class StageTimes:
    """A ``stages.Mark`` that reads the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended: deque[StageTime] = deque(maxlen=_MOST)
        self._stage = OTHER
        self._began = 0.0

    def __call__(self, stage: str) -> None:
        if stage == self._stage:
            return
        now = self._clock.monotonic()
        if self._stage != OTHER:
            self._ended.append(StageTime(self._stage, self._began, now))
        self._stage, self._began = stage, now

    def since(self, began: float) -> tuple[StageTime, ...]:
        """Those that began no earlier, in seconds from then on."""
        return tuple(
            StageTime(one.stage, one.began_s - began, one.ended_s - began)
            for one in self._ended
            if one.began_s >= began
        )
