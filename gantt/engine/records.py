"""What was decided lately, and a line in the log for each decision."""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice

from msgspec.structs import replace

from gantt.engine.observing import Observer, Silence
from gantt.model.selection import Decision
from gantt.scheduler.explain import Scoreboard

LOG = logging.getLogger(__name__)


class Records:
    """The last ``limit`` decisions of this process; safe for many threads."""

    def __init__(self, limit: int) -> None:
        self._kept: deque[tuple[Decision, Scoreboard | None]] = deque(
            maxlen=max(1, limit)
        )
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
            "decisions_limit": self._kept.maxlen or 0,
        }

    def add(self, record: Decision, board: Scoreboard | None = None) -> None:
        """Keep ``record``; ``board``: its scores, put into words when it is asked for.
        Tells the log."""
        if record.failure is None:
            self.decided += 1
        else:
            self.refused += 1
        self._kept.append((record, board))
        self.observer.decided(record)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", _line(record))

    def find(
        self, request_id: str | None, instance_uuid: str | None, limit: int
    ) -> tuple[Decision, ...]:
        """The latest first; None: any."""
        found = (
            record if board is None else replace(record, scores=board.scores())
            for record, board in reversed(tuple(self._kept))
            if request_id in (None, record.request_id)
            and (instance_uuid is None or instance_uuid in record.instance_uuids)
        )
        return tuple(islice(found, max(0, limit)))


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
