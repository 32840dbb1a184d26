"""How an engine is: whether it keeps up, and what may be changed while it runs.

Apart from the engine's answers because operators ask it, not users.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

from gantt.engine.clock import Clock
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.probe import Probe
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.checks import Checks
from gantt.engine.threads import Threads
from gantt.errors import GanttError, StoreFailed
from gantt.placement.totals import host_states, totals
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import Store

LOG = logging.getLogger(__name__)
# A probe asks whether we are ready every few seconds.
_READY_S = 1.5
_UNREADABLE = "the books cannot be read; the log says why"


class Health(ABC):
    """The part of the engine that looks at itself."""

    _store: Store
    _replica: Replica
    _log_tailer: LogTailer
    _is_closed = False
    _wall: Clock
    _checks: Checks
    _has_told_unready = False

    def _be_probed(self, threads: Threads) -> None:
        self._probe = Probe(self._log_tailer.look, _READY_S, threads)

    @abstractmethod
    def decide_by(self, options: SchedulerOptions) -> None:
        """Decide by ``options`` from now on."""

    def unready(self) -> str:
        """Why nothing can be answered now; "" when all that was committed is known.
        Takes two seconds at the most."""
        error = self._probe.failure()
        if isinstance(error, StoreFailed):
            self._log_tailer.outage.failed("read", error)
            return _UNREADABLE
        if error is not None:
            if not self._has_told_unready:  # it is asked every few seconds
                LOG.warning("not ready: %s", error)
            self._has_told_unready = True
            return _UNREADABLE
        if self._has_told_unready:
            LOG.warning("ready again: the books can be read")
        self._has_told_unready = False
        return "closed" if self._is_closed else ""

    def is_told(self, error: GanttError) -> bool:
        """Whether the log says already why a caller got ``error``, because the database
        is away; it is counted there then."""
        return isinstance(error, StoreFailed) and self._log_tailer.outage.refuses(error)

    def keeping_up(self) -> dict[str, float]:
        """For metrics, and without a question: how many revisions this process does not
        know yet, as far as the database has said, and for how long it has left
        questions unanswered."""
        return {
            "revision_lag": self._log_tailer.lag(),
            "database_silence_seconds": self._log_tailer.silence_s(),
        }

    def totals(self) -> tuple[dict[str, tuple[float, float]], dict[str, int]]:
        """Resource class -> (capacity, used), and how many hosts are in each state; as
        last known, without a question to the database."""
        now = self._wall.now()
        down_after = int(self._checks.options.service_down_time * 1_000_000)
        with self._replica.lock:
            state = self._replica.state
            return totals(state), host_states(state, now, down_after)

    def retune(self, options: EngineOptions) -> None:
        """Take over what may change while this runs: how fresh reads are, and by what
        is decided. Raises Refused, and then nothing changes."""
        self.decide_by(options.scheduler)
        self._log_tailer.keep_fresh(options)
