"""Keeps the table of shared decisions short.

Apart from ``sharing``, because it is due whether a process shares or not: who leads may
have been told not to, while others go on. And who leads may be of a release that knows
no such table, so that each process that writes sees to it as well, now and then.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from gantt.engine.clock import Clock
from gantt.errors import GanttError
from gantt.model.selection import Asked
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import SharedDecision, SharedDecisions, Trimmed

LOG = logging.getLogger(__name__)
_TRIM_S: Final = 10.0
_USUAL: Final = SchedulerOptions().shared_records


class BoundedDecisions:
    """A table of which no more than the last ``keep`` rows stay for long; 0: as many as
    is usual, because others may share though this process does not."""

    def __init__(self, table: SharedDecisions, keep: int, clock: Clock) -> None:
        self._table = table
        self._keep = keep or _USUAL
        # What others may want to keep does not go for a lower limit of one who writes.
        self._own = max(self._keep, _USUAL)
        self._written = 0
        self._clock = clock
        self._trim_at = clock.monotonic()
        self._dropped = 0
        self._left = 0

    def counts(self) -> dict[str, float]:
        """What went, and how many rows were there when this process last looked; 0 when
        another looks now."""
        is_recent = self._clock.monotonic() < self._trim_at + 2 * _TRIM_S
        return {
            "decisions_trimmed": self._dropped,
            "decisions_shared": self._left if is_recent else 0,
        }

    def add(self, rows: Sequence[SharedDecision]) -> int:
        """As the table does; raises StoreFailed."""
        lost = self._table.add(rows)
        self._written += len(rows)
        if self._written > self._own:
            try:
                self._trim(self._own)
            except GanttError as error:  # after the next write again
                LOG.info("the table of decisions was not trimmed: %s", error)
        return lost

    def find(self, asked: Asked) -> list[SharedDecision]:
        """As the table does; raises StoreFailed."""
        return self._table.find(asked)

    def is_due(self) -> bool:
        """Whether who leads should look."""
        return self._clock.monotonic() >= self._trim_at

    def trim(self) -> int:
        """How many went. Raises StoreFailed, and is then due as if it had not."""
        self._trim_at = self._clock.monotonic() + _TRIM_S
        return self._trim(self._keep).dropped

    def _trim(self, keep: int) -> Trimmed:
        done = self._table.trim(keep)
        self._written = 0
        self._dropped += done.dropped
        self._left = done.left
        return done
