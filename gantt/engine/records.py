"""What was decided lately, and a line in the log for each decision."""

from __future__ import annotations

import logging
import threading
from collections import deque
from itertools import islice

from msgspec.structs import replace

from gantt.engine.observing import Observer, Silence
from gantt.model.selection import Decision
from gantt.scheduler.explain import Scoreboard

LOG = logging.getLogger(__name__)


_INSTANCES = 16
"""So many instances a decision may have on average: some are for a thousand."""


class Records:
    """The last ``limit`` decisions of this process, fewer where they are for very many
    instances; safe for many threads."""

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._kept: deque[tuple[Decision, Scoreboard | None]] = deque()
        self._instances = 0
        self._lock = threading.Lock()
        self.decided = 0
        self.refused = 0
        self.observer: Observer = Silence()

    def __len__(self) -> int:
        return len(self._kept)

    def counts(self) -> dict[str, float]:
        """What was decided so far, and how many decisions are remembered."""
        return {
            "decisions": self.decided,
            "no_valid_host": self.refused,
            "decisions_kept": len(self._kept),
            "decisions_limit": self._limit,
        }

    def add(self, record: Decision, board: Scoreboard | None = None) -> None:
        """Keep ``record``; ``board``: its scores, put into words when it is asked for.
        Tells the log."""
        if record.failure is None:
            self.decided += 1
        else:
            self.refused += 1
        with self._lock:
            self._keep(record, board)
        self.observer.decided(record)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", _line(record))

    def _keep(self, record: Decision, board: Scoreboard | None) -> None:
        kept = self._kept
        kept.append((record, board))
        self._instances += len(record.instance_uuids)
        while len(kept) > self._limit or (
            len(kept) > 1 and self._instances > _INSTANCES * self._limit
        ):
            self._instances -= len(kept.popleft()[0].instance_uuids)

    def find(
        self, request_id: str | None, instance_uuid: str | None, limit: int
    ) -> tuple[Decision, ...]:
        """The latest first; None: any."""
        found = (
            record if board is None else replace(record, scores=board.scores())
            for record, board in reversed(self._all())
            if request_id in (None, record.request_id)
            and (instance_uuid is None or instance_uuid in record.instance_uuids)
        )
        return tuple(islice(found, max(0, limit)))

    def _all(self) -> tuple[tuple[Decision, Scoreboard | None], ...]:
        with self._lock:
            return tuple(self._kept)


def _line(record: Decision) -> str:
    """Who asked, what came of it, from how many hosts, at which revision."""
    asked = f"{record.request_id or '-'}: {len(record.instance_uuids)} instances"
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
