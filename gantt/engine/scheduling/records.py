"""What was decided lately, and a line in the log for each decision.

Each process remembers its own, whatever becomes of the database; ``sharing`` finds
those of others.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from gantt.engine.background.leader_tasks import LeaderTask
from gantt.engine.background.retention import BoundedDecisions
from gantt.engine.clock import Clock
from gantt.engine.observing import Observer, Silence
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.scheduling.sharing import Noted, Sharing
from gantt.engine.threads import Threads
from gantt.model.selection import Asked, Capacity, Decision, Why
from gantt.scheduler.explain.why import Scoreboard
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import DECISION_INSTANCES, SharedDecisions

LOG = logging.getLogger(__name__)


class Records:
    """The last ``limit`` decisions of this process, fewer where they are for very many
    instances; safe for many threads. ``sharing``: where those of others are; None:
    there are none."""

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._kept: deque[Noted] = deque()
        self._instances = 0
        self._number = 0
        self._lock = threading.Lock()
        self.decided = 0
        self.refused = 0
        self.failed = 0
        self.cut = 0
        self._observer: Observer = Silence()
        self.sharing: Sharing | None = None
        self._table: BoundedDecisions | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def counts(self) -> dict[str, float]:
        """What was decided so far, and how many decisions are remembered."""
        return {
            "decisions": self.decided,
            "no_valid_host": self.refused,
            "plugin_failures": self.failed,
            "changes_cut": self.cut,
            "decisions_kept": len(self._kept),
            "decisions_limit": self._limit,
            **({} if self.sharing is None else self.sharing.counts()),
            **({} if self._table is None else self._table.counts()),
        }

    def add(
        self,
        record: Decision,
        board: Scoreboard | None = None,
        *,
        is_decided: bool = True,
    ) -> None:
        """Keep ``record``; ``board``: its scores, put into words when it is asked for.
        Tells the log. Dry runs are kept and told, but not counted or measured, except
        for a search for a change that was cut. What a plug-in failed to decide is kept
        and has a count of its own: the caller that hears of it tells the log."""
        if not is_decided:
            self.failed += 1
        elif not record.is_dry_run:
            self._count(record)
        self.note_change(record.why)
        with self._lock:
            self._number += 1
            noted = Noted(self._number, record, board)
            self._keep(noted)
        if self.sharing is not None:
            self.sharing.note(noted)
        if is_decided and LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", _line(noted))

    def note_change(self, found: Why | Capacity | None) -> None:
        """Count a search for a change that ended at its limit."""
        self.cut += found is not None and found.is_truncated

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of each decision from now on."""
        self._observer = observer

    def _count(self, record: Decision) -> None:
        if record.failure is None:
            self.decided += 1
        else:
            self.refused += 1
        self._observer.decided(record)

    def _keep(self, noted: Noted) -> None:
        kept = self._kept
        kept.append(noted)
        self._instances += noted.instances
        while len(kept) > self._limit or (
            len(kept) > 1 and self._instances > DECISION_INSTANCES * self._limit
        ):
            self._instances -= kept.popleft().instances

    def share(
        self,
        table: SharedDecisions | None,
        process: str,
        options: SchedulerOptions,
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        """From now on, where there can be others; see ``Sharing``."""
        if table is None:
            return
        self._table = BoundedDecisions(table, options.shared_records, clock)
        if options.shared_records:
            self.sharing = Sharing(
                self._table, process, options, clock, threads, is_away
            )

    def leader_tasks(self) -> Iterator[LeaderTask]:
        """What one process does for all of them, whether it shares its own or not."""
        if self._table is not None:
            yield LeaderTask("trim", self._table.is_due, self._table.trim)

    def close(self) -> None:
        """Have others find all of it."""
        if self.sharing is not None:
            self.sharing.close()

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        project_id: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        return self.find(Asked(request_id, instance_uuid, project_id, limit))

    def find(self, asked: Asked) -> tuple[Decision, ...]:
        """Those that are kept here, or by any process, the latest first."""
        if self.sharing is None:
            return tuple(self._own(asked).values())
        return self.sharing.find(asked, self._own)

    def _own(self, asked: Asked) -> dict[int, Decision]:
        """Those that are kept here by number, the latest first."""
        with self._lock:
            kept = tuple(self._kept)
        found = (one for one in reversed(kept) if asked.means(one.record))
        return {one.number: _told(one) for one in islice(found, max(0, asked.limit))}


def _told(one: Noted) -> Decision:
    if one.board is None:
        return one.record
    return replace(one.record, scores=one.board.scores())


def _line(noted: Noted) -> str:
    """Who asked, what came of it, from how many hosts, at which revision."""
    record = noted.record
    dry = "dry run, " if record.is_dry_run else ""
    asked = f"{record.request_id or '-'}: {dry}{noted.instances} instances"
    if record.failure is not None:
        return f"{asked}, {record.hosts} hosts: {record.failure}"
    hosts = [one[0].service_host for one in record.chosen[:3]]
    more = len(record.chosen) - len(hosts)
    took = sum(record.timings.values()) * 1000
    return (
        f"{asked} on {', '.join(hosts)}{f' and {more} more' if more else ''} of "
        f"{record.hosts} hosts, {record.attempts} attempts, revision "
        f"{record.revision}, {took:.1f} ms"
    )
