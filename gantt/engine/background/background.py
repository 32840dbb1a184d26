"""What runs beside requests: polling for other processes' writes, and leader tasks.

Separate from the engine because none of it is needed to answer: it starts last and
stops first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

from gantt.engine.background.leader_tasks import (
    Compaction,
    Leadership,
    LeaderTasks,
)
from gantt.engine.background.usage_recorder import UsageRecorder
from gantt.engine.clock import Clock
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.reader import Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.claim_methods import ClaimMethods
from gantt.engine.scheduling.records import Records
from gantt.engine.threads import LeaderTask, Threads
from gantt.errors import GanttError, StoreFailed
from gantt.placement.usage_samples import totals_by_zone
from gantt.store.interface import ADVICE, ADVISING, DECISIONS, Store

LOG = logging.getLogger(__name__)
# After so many polls without news, they become rarer by the factor _IDLE.
_QUIET = 50
_IDLE = 10
_PAUSE_S = 1.0
_LONGEST_S = 4.0


class Background:
    """The threads that nothing waits for. ``tasks``: more tasks for the leader;
    ``look``: what every process does now and then, leader or not; ``name``: of this
    process, among those of the same database."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        log_tailer: LogTailer,
        reader: Reader,
        claims: ClaimMethods,
        records: Records,
        tasks: Iterable[LeaderTask],
        options: EngineOptions,
        look: Callable[[], None],
        *,
        name: str,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._log_length = options.log_length
        zone = options.scheduler.default_availability_zone
        totals = partial(reader.search, totals_by_zone, zone)
        self.usage = UsageRecorder(store, totals, options, clock)
        is_away = log_tailer.is_away
        given = options.scheduler, clock, threads, is_away
        records.share(store.beside(DECISIONS), name, *given)
        if records.advice is not None:
            records.advice.share(store.beside(ADVICE), name + ADVISING, *given)
        self._poller = Poller(log_tailer, replica, options.poll_ms / 1000, threads)
        compaction = Compaction(store, replica, options.log_length)
        self._leader_tasks = LeaderTasks(
            Leadership(
                store,
                name,
                options.leader_silence_s,
                clock,
                lambda: log_tailer.outage.succeeded("write"),
            ),
            (
                LeaderTask("compact", compaction.is_due, compaction.run),
                LeaderTask("expire", claims.is_due, claims.expire),
                LeaderTask("usage", self.usage.is_due, self.usage.run),
                *records.leader_tasks(),
                *tasks,
            ),
            look,
            options.sweep_s,
            threads,
            is_away,
        )

    @property
    def leads(self) -> bool:
        """Whether this process does the leader tasks."""
        return self._leader_tasks.is_leading

    def counts(self) -> dict[str, float]:
        """What leader tasks did so far, by name; for metrics."""
        done = self._leader_tasks.done
        return {
            "leader": self._leader_tasks.is_leading,
            "leases_swept": done["expire"],
            "compacted": done["compact"],
            "log_limit": self._log_length,
            **self.usage.counts(),
        }

    def close(self) -> None:
        """Stop, wait until all has, and let another process lead."""
        self._leader_tasks.close()
        self._poller.close()


class Poller:
    """Polls every ``period_s`` seconds for commits of other processes; 0: never.

    Watchers and bounded readers find columns hardly older than the last poll. Polls are
    rarer while this process is alone, and none while it writes: the committer reads the
    end of the log with every batch."""

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
