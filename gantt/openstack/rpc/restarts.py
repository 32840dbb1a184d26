"""When a worker process that has ended is started again, and when none is any more.

One worker that dies is no reason to end the others: they may be all that answers while
a database is away.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

LOG = logging.getLogger(__name__)

# A worker that lived for so long is started again at once.
SETTLED_S: Final = 10.0
LONGEST_PAUSE_S: Final = 30.0
# Doublings of the first pause, of a second, that reach the longest.
_DOUBLINGS: Final = 5
# Starts of each worker that may fail in a row.
STARTS: Final = 3


class Restarts:
    """When each of ``count`` workers, numbered from 0, is started again. Time is
    monotonic seconds."""

    def __init__(self, count: int) -> None:
        self._deaths = [0] * count
        self._failed_starts = [0] * count
        # When those that ended are due.
        self._due: dict[int, float] = {}

    def ended(
        self, number: int, now: float, *, status: object, began: float, served: bool
    ) -> None:
        """A worker has ended by itself, and is due after a pause; ``served``: whether
        its start had succeeded. Both is logged."""
        is_settled = served and now - began >= SETTLED_S
        deaths = self._deaths[number] = 0 if is_settled else self._deaths[number] + 1
        self._failed_starts[number] = 0 if served else self._failed_starts[number] + 1
        if self.are_futile:
            LOG.error(
                "Worker %d ended with %s. The start of each worker failed %d times in "
                "a row, for the reasons above: correct them, then start this program "
                "again.",
                number,
                status,
                STARTS,
            )
            return
        doubled = 2.0 ** min(deaths - 1, _DOUBLINGS)
        pause = min(doubled, LONGEST_PAUSE_S) if deaths else 0.0
        self._due[number] = now + pause
        LOG.error(
            "Worker %d ended with %s; a new one is started in %g s",
            number,
            status,
            pause,
        )

    @property
    def are_futile(self) -> bool:
        """Whether no worker can start: each has failed several times in a row."""
        return all(failed >= STARTS for failed in self._failed_starts)

    def take_due(self, now: float) -> Sequence[int]:
        """The workers to be started now, each told once."""
        found = [number for number, at in self._due.items() if at <= now]
        for number in found:
            del self._due[number]
        return found

    def next_s(self, now: float) -> float | None:
        """Seconds until a worker is due; None: none has ended."""
        if not self._due:
            return None
        return max(0.0, min(self._due.values()) - now)
