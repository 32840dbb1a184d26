"""Decisions in memory, and how many of them are kept.

Apart from ``records``, because those that wait to be written are kept in the same way.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from gantt.model.selection import Decision
from gantt.scheduler.explain.why import Scoreboard
from gantt.store.interface import DECISION_INSTANCES


class Noted(Struct, frozen=True):
    """A decision in memory, for so many ``instances``; ``board``: its scores, not yet
    formatted."""

    number: int
    record: Decision
    board: Scoreboard | None
    instances: int

    def shown(self) -> Decision:
        """The record with its scores."""
        if self.board is None:
            return self.record
        return replace(self.record, scores=self.board.scores())


class Ring:
    """At most ``limit`` decisions, of which one for more than DECISION_INSTANCES counts
    as several. The oldest are dropped first; with ``spares_refusals``, successes
    are."""

    def __init__(self, limit: int, *, spares_refusals: bool = False) -> None:
        self.count = 0
        self._left = limit * DECISION_INSTANCES
        self._spares_refusals = spares_refusals
        self._queue: deque[Noted] = deque()
        self._spared: deque[Noted] = deque()

    def __len__(self) -> int:
        return self.count

    def add(self, one: Noted) -> int:
        """How many were dropped to make room; the last one is not."""
        is_spared = self._spares_refusals and one.record.failure is not None
        (self._spared if is_spared else self._queue).append(one)
        self.count += 1
        self._left -= max(one.instances, DECISION_INSTANCES)
        dropped = 0
        while self._left < 0 and self.count > 1:
            oldest = (self._queue or self._spared).popleft()
            self._left += max(oldest.instances, DECISION_INSTANCES)
            self.count -= 1
            dropped += 1
        return dropped

    def in_order(self) -> list[Noted]:
        """All of them, the oldest first."""
        return sorted((*self._queue, *self._spared), key=lambda one: one.number)
