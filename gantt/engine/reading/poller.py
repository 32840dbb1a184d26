"""Keeps up with other processes while there are no requests.

A thread of its own, so that watchers and bounded readers find columns that are hardly
older than the last poll, and a strict reader or the committer has little left to catch
up with. A process that is alone on a database polls less often, one in ``_IDLE`` times.
One that writes does not poll at all: the committer reads the end of the log with every
batch.
"""

from __future__ import annotations

import logging

from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import Threads
from gantt.errors import GanttError, StoreFailed

LOG = logging.getLogger(__name__)

# After so many polls without news, they become rarer by the factor _IDLE.
_QUIET = 50
_IDLE = 10
_PAUSE_S = 1.0
_LONGEST_S = 4.0


class Poller:
    """Polls every ``period_s`` seconds for commits of other processes; 0: never."""

    def __init__(
        self, log_tailer: LogTailer, replica: Replica, period_s: float, threads: Threads
    ) -> None:
        self._log_tailer = log_tailer
        self._replica = replica
        self._period_s = period_s
        self._stop = threads.event()
        self._thread = threads.start(self._run, "gantt-poller") if period_s else None

    def close(self) -> None:
        """Stop, and wait until it has."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        quiet = 0
        pause_s = self._period_s
        is_logged = False
        while not self._stop.wait(pause_s):
            if 0 <= (age_s := self._log_tailer.age_s()) < self._period_s:
                pause_s = self._period_s - age_s  # another thread has just queried
                continue
            before = self._replica.durable
            try:
                self._log_tailer.look()
            except StoreFailed:  # logged by the log tailer
                # Polling is not cheap: the driver tries every address of the server.
                pause_s = min(
                    max(_PAUSE_S, 2 * pause_s), max(_LONGEST_S, self._period_s)
                )
                continue
            except GanttError as error:
                if not is_logged:
                    LOG.warning("cannot read what other processes wrote: %s", error)
                is_logged, pause_s = True, max(_PAUSE_S, self._period_s)
                continue
            except Exception:  # a bug must not end the thread
                LOG.exception("polling for other processes' writes failed")
                pause_s = max(_PAUSE_S, self._period_s)
                continue
            is_logged = False
            quiet = 0 if self._replica.durable != before else quiet + 1
            pause_s = self._period_s * (_IDLE if quiet > _QUIET else 1)
