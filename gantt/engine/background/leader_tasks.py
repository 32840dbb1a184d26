"""Tasks that one process, the leader, does for all: it compacts the log, ends leases.

In a thread of its own, because a lease may end while no request comes. The leader sends
heartbeats to a row; when they stop, another process takes over. Correctness does not
depend on it: every task goes through the committer or under the head lock, and the
second of two leaders finds nothing to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from gantt.engine.clock import Clock
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import LeaderTask, Threads
from gantt.errors import GanttError
from gantt.store.interface import Lead, Store

LOG = logging.getLogger(__name__)

# Heartbeats that must be missed before another process takes over.
_BEATS = 4
# Between two attempts while the database is away.
_LONGEST_S = 4.0
# Revisions between two compactions.
_COMPACT_EVERY = 1_000


class Compaction:
    """Keeps the log within ``keep`` revisions."""

    def __init__(self, store: Store, replica: Replica, keep: int) -> None:
        self._store = store
        self._replica = replica
        self._keep = keep
        self._done_at = replica.durable

    def is_due(self) -> bool:
        return self._replica.durable - self._done_at >= _COMPACT_EVERY

    def run(self) -> int:
        """Raises StoreFailed, and is then due again after as many revisions."""
        self._done_at = self._replica.durable
        return self._store.compact(self._keep)


class Leads(Protocol):
    """What of a store says who leads."""

    def leader(self) -> Lead:
        """See Store."""

    def lead(self, holder: str, seen: Lead) -> Lead | None:
        """See Store."""


class Leadership:
    """Whether this process leads, judged by how long the row has not changed on the own
    monotonic clock: times of different processes are never compared."""

    def __init__(
        self,
        store: Leads,
        name: str,
        silence_s: float,
        clock: Clock,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        """``name``: of no other process. ``silence_s``: a leader without heartbeats
        for so long is taken to be gone. ``wrote``: called whenever the row was written,
        which shows that the database accepts writes."""
        self._store = store
        self._wrote = wrote
        self._name = name
        self._silence_s = silence_s
        self._clock = clock
        self._mine: Lead | None = None
        self._seen: Lead | None = None
        self._seen_at = 0.0

    @property
    def is_mine(self) -> bool:
        return self._mine is not None

    def look(self) -> bool:
        """Take over if there is no leader, or send a heartbeat if this leads; whether
        this process leads now. Raises StoreFailed."""
        found = self._store.leader()
        now = self._clock.monotonic()
        if found.holder == self._name:
            self._mine = found  # also where the answer to what this wrote was lost
        elif self._mine is not None:
            LOG.info("%s is the new leader", found.holder or "no process")
            self._mine = None
        if found != self._seen:
            self._seen, self._seen_at = found, now
        silence_s = now - self._seen_at
        if self._mine is not None:
            if silence_s >= self._silence_s / _BEATS:
                self._keep(self._store.lead(self._name, self._mine))
        elif not found.holder or silence_s >= self._silence_s:
            self._keep(self._store.lead(self._name, found))
            if self.is_mine:
                LOG.info("%s, this process, is the new leader", self._name)
        return self.is_mine

    def give_up(self) -> None:
        """Let another lead at once. Raises StoreFailed."""
        mine, self._mine = self._mine, None
        if mine is not None:
            self._store.lead("", mine)

    def _keep(self, lead: Lead | None) -> None:
        self._mine = lead
        if lead is not None:
            self._wrote()
            self._seen, self._seen_at = lead, self._clock.monotonic()


class LeaderTasks:
    """Every ``period_s`` seconds, does the tasks that are due if this process leads;
    before that, leader or not, ``look``."""

    def __init__(
        self,
        leadership: Leadership,
        tasks: tuple[LeaderTask, ...],
        look: Callable[[], None],
        period_s: float,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        self._leadership = leadership
        self._tasks = tasks
        self._look = look
        self._period_s = period_s
        self._stop = threads.event()
        self._is_away = is_away
        self._troubles: set[str] = set()
        self.done = {task.name: 0 for task in tasks}
        self._thread = threads.start(self._run, "gantt-leader")

    @property
    def is_leading(self) -> bool:
        """Whether this process does the tasks."""
        return self._leadership.is_mine

    def close(self) -> None:
        """Stop, wait until it has, and let another lead."""
        self._stop.set()
        self._thread.join()
        try:
            self._leadership.give_up()
        except GanttError as error:
            LOG.debug(
                "cannot give up the lead; another process will take over later: %s",
                error,
            )

    def _run(self) -> None:
        pause_s = self._period_s
        while not self._stop.wait(pause_s):
            longer_s = min(2 * pause_s, max(_LONGEST_S, self._period_s))
            pause_s = self._period_s
            try:
                self._look()
                if self._leadership.look():
                    self._do()
                self._troubles.clear()
            except GanttError as error:
                pause_s = longer_s  # asking a database that is away is not cheap
                self._report("the leader is unknown", error)
            except Exception:  # a bug must not end the thread
                LOG.exception("the leader tasks failed and will be tried again")

    def _do(self) -> None:
        for task in self._tasks:
            try:
                if task.is_due():
                    self.done[task.name] += task.run()
            except GanttError as error:
                # The database may be away: the work is still there afterwards.
                self._report(f"leader task {task.name!r} failed", error)

    def _report(self, text: str, error: GanttError) -> None:
        """Once per trouble, not once a second; outages are logged elsewhere."""
        if text not in self._troubles and not self._is_away():
            self._troubles.add(text)
            LOG.warning("%s: %s", text, error)
