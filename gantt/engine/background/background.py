"""What runs beside requests: polling for other processes' writes, and leader tasks.

Separate from the engine because none of it is needed to answer: it starts last and
stops first.
"""

from __future__ import annotations

from functools import partial

from gantt.engine.background.leader_tasks import (
    Compaction,
    Leadership,
    LeaderTask,
    LeaderTasks,
)
from gantt.engine.background.usage_history import UsageHistory
from gantt.engine.clock import Clock
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.poller import Poller
from gantt.engine.reading.reader import Reader
from gantt.engine.reading.replica import Replica
from gantt.engine.scheduling.claims import Claims
from gantt.engine.scheduling.records import Records
from gantt.engine.threads import Threads
from gantt.placement.totals import totals
from gantt.store.interface import Store


class Background:
    """The threads that nothing waits for. ``name``: of this process, among those of the
    same database."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        log_tailer: LogTailer,
        reader: Reader,
        claims: Claims,
        records: Records,
        options: EngineOptions,
        *,
        name: str,
        clock: Clock,
        threads: Threads,
    ) -> None:
        self._log_length = options.log_length
        self.usage = UsageHistory(store, partial(reader.search, totals), options, clock)
        is_away = log_tailer.is_away
        records.share(store.decisions, name, options.scheduler, clock, threads, is_away)
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
            ),
            options.sweep_s,
            threads,
            is_away,
        )

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
