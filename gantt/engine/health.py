"""The health of an engine: whether it can answer, whether it keeps up, what it holds.

Separate from the engine's queries because operators probe it often and need an answer
even while the database gives none, so that the probe has its own thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gantt.engine.clock import Clock
from gantt.engine.observer import Companion
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.reader import Consistency, Reader
from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.threads import ThreadEvent, Threads
from gantt.errors import GanttError, StoreFailed
from gantt.placement.fleet_queries import frozen_since
from gantt.placement.usages import host_states, totals
from gantt.state.state import State

LOG = logging.getLogger(__name__)
# Load balancers probe every few seconds, and wait about as long.
_READY_S = 1.5
_UNREADABLE = "the books cannot be read; the log says why"
_UNWRITABLE = "the books cannot be written; the log says why"

Totals = tuple[dict[str, tuple[float, float]], dict[str, int]]


class _Look:
    """One probe of the database, and its result."""

    def __init__(self, done: ThreadEvent) -> None:
        self.done = done
        self.failure: GanttError | None = None
        self.is_late = False


class Probe:
    """Probes the database in a thread of its own, one probe at a time."""

    def __init__(
        self, look: Callable[[], None], timeout_s: float, threads: Threads
    ) -> None:
        self._look = look
        self._timeout_s = timeout_s
        self._threads = threads
        self._lock = threads.lock()
        self._latest: _Look | None = None

    def failure(self) -> GanttError | None:
        """Why the probe failed; StoreFailed if it takes longer than ``timeout_s``, at
        once while such a probe is still running. None: it succeeded."""
        with self._lock:
            latest = self._latest
            if latest is None:
                latest = self._latest = _Look(self._threads.event())
                started = latest
                self._threads.start(lambda: self._run(started), "gantt-probe")
        if latest.is_late or not latest.done.wait(self._timeout_s):
            latest.is_late = True
            return StoreFailed(
                f"The database has not answered for {self._timeout_s:g} s; it "
                "may be stalled. Check that it is running."
            )
        return latest.failure

    def _run(self, look: _Look) -> None:
        try:
            self._look()
        except GanttError as error:
            look.failure = error
        except Exception as error:
            LOG.exception("the check whether the books can be read failed")
            look.failure = StoreFailed(f"a bug in Gantt: {error!r}")
        finally:
            with self._lock:
                self._latest = None
            look.done.set()


class Health:
    """The state of the engine for operators."""

    def __init__(
        self,
        reader: Reader,
        log_tailer: LogTailer,
        checks: Checks,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._reader = reader
        self._log_tailer = log_tailer
        self._checks = checks
        self._clock = clock
        self._unwritable: StoreFailed | None = None
        self._probe = Probe(self._look, _READY_S, threads)
        self._companions: tuple[Companion, ...] = ()
        self._was_unready = False
        self._is_closed = False

    def unready(self) -> str:
        """Why the engine is not ready; "": it knows all commits, and can write. Takes
        two seconds at most."""
        error = self._probe.failure()
        if isinstance(error, StoreFailed):
            if error is self._unwritable:
                self._log_tailer.outage.failed("write", error)
                return _UNWRITABLE
            self._log_tailer.outage.failed("read", error)
            return _UNREADABLE
        if error is not None:
            if not self._was_unready:  # called every few seconds
                LOG.warning("not ready: %s", error)
            self._was_unready = True
            return _UNREADABLE
        if self._was_unready:
            LOG.warning("ready again: the books can be read")
        self._was_unready = False
        return "closed" if self._is_closed else ""

    def _look(self) -> None:
        self._log_tailer.look()
        try:
            self._log_tailer.check_writable()
        except StoreFailed as error:
            self._unwritable = error
            raise
        if self._unwritable is not None:
            self._log_tailer.outage.succeeded("write")
        self._unwritable = None

    def notice(self) -> str:
        """What operators should know although the engine is ready; "": nothing. As last
        known, without a query."""
        notices = (self._frozen(), *(one.notice() for one in self._companions))
        return "; ".join(one for one in notices if one)

    def accompany(self, companion: Companion) -> None:
        """Tell what ``companion`` counts and notices from now on, too."""
        self._companions = (*self._companions, companion)

    def counts(self) -> dict[str, float]:
        """Those of all companions, by name; for metrics."""
        return {
            name: count
            for one in self._companions
            for name, count in one.counts().items()
        }

    def withholds_reports(self) -> bool:
        """Whether reports of hosts cannot come by one of the companions now."""
        return any(one.withholds_reports() for one in self._companions)

    def _frozen(self) -> str:
        since = self._frozen_since()
        if since is None:
            return ""
        seconds = max(0, self._clock.now() - since) // 1_000_000
        return (
            f"liveness is frozen for {seconds} s: the members of the group of agents "
            "are not known, and no host goes down or comes up"
        )

    def _frozen_since(self) -> int | None:
        return self._reader.read(frozen_since, consistency=Consistency.LOCAL)

    def is_logged(self, error: GanttError) -> bool:
        """Whether ``error`` is part of an outage that is logged already; it is counted
        there then."""
        return isinstance(error, StoreFailed) and self._log_tailer.outage.refuses(error)

    def keeping_up(self) -> dict[str, float]:
        """For metrics, without a query: how many revisions this process lacked by the
        last answer of the database, and for how long that has not answered."""
        return {
            "revision_lag": self._log_tailer.lag(),
            "database_silence_seconds": self._log_tailer.silence_s(),
            "liveness_frozen": self._frozen_since() is not None,
        }

    def totals(self) -> Totals:
        """Resource class -> (capacity, used), and how many hosts are in each state; as
        last known, without a query."""
        down_after = int(self._checks.options.service_down_time * 1_000_000)
        return self._reader.read(
            _totals, self._clock.now(), down_after, consistency=Consistency.LOCAL
        )

    def close(self) -> None:
        """Not ready from now on."""
        self._is_closed = True


def _totals(state: State, now: int, down_after: int) -> Totals:
    return totals(state), host_states(state, now, down_after)
