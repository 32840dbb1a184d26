"""What was decided lately, and a line in the log for each decision.

Each process keeps its own. Who serves together may be asked too (``others``): how they
are reached is the door's business.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from gantt.engine.observing import Observer, Silence
from gantt.model.selection import Decision
from gantt.scheduler.explain import Scoreboard

LOG = logging.getLogger(__name__)


_INSTANCES = 16
"""So many instances a decision may have on average: some are for a thousand."""


class Asked(Struct, frozen=True):
    """Which decisions are wanted; None: any. ``limit``: at most so many, the latest."""

    request_id: str | None = None
    instance_uuid: str | None = None
    project_id: str | None = None
    limit: int = 100

    def means(self, record: Decision) -> bool:
        """Whether ``record`` is one of them."""
        instance = self.instance_uuid
        return (
            self.request_id in (None, record.request_id)
            and self.project_id in (None, record.project_id)
            and (instance is None or instance in record.instance_uuids)
        )


class Told(Struct, frozen=True):
    """What others keep of it; so many of them (``unheard``) did not tell all."""

    decisions: tuple[Decision, ...] = ()
    unheard: int = 0


Others = Callable[[Asked], Told]


def nobody(_asked: Asked) -> Told:
    """There are no others."""
    return Told()


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
        self.unheard = 0
        self.observer: Observer = Silence()
        self.others: Others = nobody

    def __len__(self) -> int:
        return len(self._kept)

    def counts(self) -> dict[str, float]:
        """What was decided so far, and how many decisions are remembered."""
        return {
            "decisions": self.decided,
            "no_valid_host": self.refused,
            "decisions_kept": len(self._kept),
            "decisions_limit": self._limit,
            "workers_unheard": self.unheard,
        }

    def add(self, record: Decision, board: Scoreboard | None = None) -> None:
        """Keep ``record``; ``board``: its scores, put into words when it is asked for.
        Tells the log; dry runs are kept and told, and not counted or measured."""
        if not record.is_dry_run:
            self._count(record)
        with self._lock:
            self._keep(record, board)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", _line(record))

    def _count(self, record: Decision) -> None:
        if record.failure is None:
            self.decided += 1
        else:
            self.refused += 1
        self.observer.decided(record)

    def _keep(self, record: Decision, board: Scoreboard | None) -> None:
        kept = self._kept
        kept.append((record, board))
        self._instances += _size(record)
        while len(kept) > self._limit or (
            len(kept) > 1 and self._instances > _INSTANCES * self._limit
        ):
            self._instances -= _size(kept.popleft()[0])

    def find(self, asked: Asked) -> tuple[Decision, ...]:
        """Those that are kept here or by others, the latest first."""
        mine, told = tuple(self.own(asked)), self.others(asked)
        if told.unheard:
            with self._lock:
                self.unheard += told.unheard
        if not told.decisions:
            return mine
        found = sorted((*mine, *told.decisions), key=_at, reverse=True)
        return tuple(found[: max(0, asked.limit)])

    def own(self, asked: Asked) -> Iterator[Decision]:
        """Those that are kept here, the latest first; each is put into words when it
        is its turn."""
        found = (
            record if board is None else replace(record, scores=board.scores())
            for record, board in reversed(self._all())
            if asked.means(record)
        )
        return islice(found, max(0, asked.limit))

    def _all(self) -> tuple[tuple[Decision, Scoreboard | None], ...]:
        with self._lock:
            return tuple(self._kept)


class Recorded:
    """The records of an engine, for whoever asks it."""

    _records: Records

    def decisions(
        self,
        *,
        request_id: str | None = None,
        instance_uuid: str | None = None,
        project_id: str | None = None,
        limit: int = 100,
    ) -> tuple[Decision, ...]:
        asked = Asked(request_id, instance_uuid, project_id, limit)
        return self._records.find(asked)

    def own_decisions(self, asked: Asked) -> Iterator[Decision]:
        """Those of this process alone, the latest first: what it tells ``others``."""
        return self._records.own(asked)

    def consult(self, others: Others) -> None:
        """Ask ``others`` too, from now on, whenever decisions are asked for."""
        self._records.others = others


def _size(record: Decision) -> int:
    """Instances that it is for; where none is named, hosts were chosen all the same."""
    return max(len(record.instance_uuids), len(record.chosen))


def _at(record: Decision) -> int:
    return record.at


def _line(record: Decision) -> str:
    """Who asked, what came of it, from how many hosts, at which revision."""
    dry = "dry run, " if record.is_dry_run else ""
    asked = f"{record.request_id or '-'}: {dry}{_size(record)} instances"
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
