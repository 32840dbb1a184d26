"""Ends leases whose time is over: the one chore that runs by itself.

A thread of its own, because nobody else comes by when a lease ends. It only ever asks
the gate: whoever asks first ends a lease, and a lease that a caller confirmed in time
is not there to be ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gantt.engine.threads import Threads
from gantt.errors import GanttError

LOG = logging.getLogger(__name__)


class Sweeper:
    """Calls ``sweep`` every ``period_s`` seconds as long as ``is_due`` says so."""

    def __init__(
        self,
        is_due: Callable[[], bool],
        sweep: Callable[[], int],
        period_s: float,
        threads: Threads,
    ) -> None:
        self._is_due = is_due
        self._sweep = sweep
        self._period_s = period_s
        self._stop = threads.event()
        self.swept = 0
        self._thread = threads.start(self._run, "gantt-sweeper")

    def close(self) -> None:
        """Stop, and wait until it has."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._period_s):
            try:
                if self._is_due():
                    self.swept += self._sweep()
            except GanttError as error:
                # The database may be away: the lease is still there afterwards.
                LOG.warning("leases that ended could not be swept: %s", error)
