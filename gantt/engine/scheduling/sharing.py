"""Decisions of all processes: each writes down its own, and finds those of all.

Apart from ``records``, which remember in this process alone: here is what waits to be
written by a thread that no decision waits for, what becomes of it while the database is
away, and how what is found there and here becomes one list.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gantt.engine.background.retention import BoundedDecisions
from gantt.engine.clock import Clock
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.scheduling import shared_form
from gantt.engine.threads import Thread, Threads
from gantt.errors import GanttError
from gantt.model.selection import Asked, Decision
from gantt.scheduler.explain.why import Scoreboard
from gantt.scheduler.options import SchedulerOptions
from gantt.store.interface import DECISION_INSTANCES, SharedDecision

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 0.2
"""Between two writes; decisions of this time are lost with a process that is killed."""
_AGAIN_S: Final = 2 * PERIOD_S
"""Until the second look for what may be on its way: it is written once a period, and
writing takes a while where the database is busy."""
_WAITERS: Final = 8
"""How many may wait for it at once: each has a thread that others need."""
_PAUSE_S: Final = 1.0
_WRITING: Final = "decisions cannot be shared and are kept until they can"
_FINDING: Final = "only decisions of this process are available"

Own = Callable[[Asked], Mapping[int, Decision]]
"""What is remembered here of what is asked for, by number."""


class Noted(Struct, frozen=True):
    """A decision that is remembered; ``board``: its scores, not yet put into words."""

    number: int
    record: Decision
    board: Scoreboard | None

    @property
    def instances(self) -> int:
        """That it is for; where none is named, hosts were chosen all the same."""
        return max(len(self.record.instance_uuids), len(self.record.chosen))


class _Backlog:
    """What is not written yet. When it is full, the oldest goes; a refusal only when
    nothing else is left."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chosen: deque[Noted] = deque()
        self._refused: deque[Noted] = deque()
        self._instances = 0

    def __len__(self) -> int:
        return len(self._chosen) + len(self._refused)

    def add(self, one: Noted) -> int:
        """How many went for it."""
        queue = self._chosen if one.record.failure is None else self._refused
        queue.append(one)
        self._instances += one.instances
        gone = 0
        while len(self) > self._limit or (
            len(self) > 1 and self._instances > DECISION_INSTANCES * self._limit
        ):
            self._instances -= (self._chosen or self._refused).popleft().instances
            gone += 1
        return gone

    def take(self) -> list[Noted]:
        """All of it, in order."""
        found = sorted((*self._chosen, *self._refused), key=lambda one: one.number)
        self._chosen.clear()
        self._refused.clear()
        self._instances = 0
        return found


class _Budget:
    """``rate`` a second, and no more at once than in a second: scores cost more than
    all else of a record, so that only some have them when there are very many."""

    def __init__(self, rate: int, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._left = float(rate)
        self._at = clock.monotonic()

    def take(self) -> bool:
        """Whether one more is within it; counted when a decision is made, so that those
        which wait for the database lose nothing by it."""
        now = self._clock.monotonic()
        self._left = min(self._rate, self._left + self._rate * (now - self._at))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Sharing:
    """The thread begins with the first decision."""

    def __init__(
        self,
        table: BoundedDecisions,
        process: str,
        options: SchedulerOptions,
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        """``process``: a name that no other process ever has."""
        self._table = table
        self._process = process
        self._options = options
        self._clock = clock
        self._threads = threads
        self._thread: Thread | None = None
        self._backlog = _Backlog(options.shared_backlog)
        self._changed = threads.condition()
        self._stop = threads.event()
        self._is_closed = False
        self._is_away = is_away
        self._troubles: set[str] = set()
        self._unshared = 0
        self._waiters = 0
        self._unawaited = 0
        self._scores = _Budget(options.shared_scores, clock)
        self._unscored = 0

    def counts(self) -> dict[str, float]:
        """What waits, and what no other process will find."""
        return {
            "decisions_waiting": len(self._backlog),
            "decisions_waiting_limit": self._options.shared_backlog,
            "decisions_scored_limit": self._options.shared_scores,
            "decisions_shared_limit": self._options.shared_records,
            "decisions_unshared": self._unshared,
            "decisions_unscored": self._unscored,
            "decisions_unawaited": self._unawaited,
        }

    # -- writing ------------------------------------------------------------------

    def note(self, one: Noted) -> None:
        """Have it written down soon."""
        with self._changed:
            is_first = not self._backlog
            if one.board is not None and not self._scores.take():
                self._unscored += 1
                one = Noted(one.number, one.record, None)
            self._unshared += self._backlog.add(one)
            if is_first:
                self._changed.notify()
            if self._thread is None and not self._is_closed:
                self._thread = self._threads.start(self._run, "gantt-decisions")

    def close(self) -> None:
        """Write what waits, once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._write()

    def _run(self) -> None:
        pause_s = PERIOD_S
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._backlog or self._is_closed)
            if self._stop.wait(pause_s):
                return
            pause_s = PERIOD_S if self._write() else _PAUSE_S

    def _write(self) -> bool:
        """Whether nothing waits any more but what has come since."""
        with self._changed:
            taken = self._backlog.take()
        if not taken:
            return True
        lost = 0
        try:
            rows = self._rows(taken)
            lost = len(taken) - len(rows) + self._table.add(rows)
        except GanttError as error:
            self._tell(_WRITING, error)
            with self._changed:
                newer = self._backlog.take()
                lost = sum(self._backlog.add(one) for one in (*taken, *newer))
            return False
        except Exception:  # a mistake of ours must not end it for good
            LOG.exception("%d decisions are not shared", len(taken))
            lost = len(taken)
        else:
            self._troubles.discard(_WRITING)
        finally:
            with self._changed:
                self._unshared += lost
        return True

    def _rows(self, taken: list[Noted]) -> list[SharedDecision]:
        """All but those that cannot be put into bytes: a plugin's values, perhaps."""
        rows = []
        for one in taken:
            scoring = None if one.board is None else one.board.scoring()
            try:
                rows.append(self._row(one, shared_form.encode(one.record, scoring)))
            except (TypeError, ValueError) as error:
                name = one.record.request_id
                LOG.warning("the record of %r is not shared: %s", name, error)
        return rows

    def _row(self, one: Noted, text: bytes) -> SharedDecision:
        record = one.record
        return SharedDecision(
            self._process,
            one.number,
            record.at,
            record.request_id,
            record.project_id,
            record.failure is not None,
            one.instances,
            f",{','.join(record.instance_uuids)},",
            text,
        )

    def _tell(self, text: str, error: GanttError) -> None:
        """Once per trouble, not five times a second; an outage is told elsewhere."""
        if text not in self._troubles and not self._is_away():
            self._troubles.add(text)
            LOG.warning("%s: %s", text, error)

    # -- finding ------------------------------------------------------------------

    def find(self, asked: Asked, own: Own) -> tuple[Decision, ...]:
        """Those of all processes, the latest first. Who names one that is not there is
        told so only when it had time to come, unless many wait already."""
        found, is_heard = self._look(asked, own)
        is_named = (asked.request_id, asked.instance_uuid) != (None, None)
        if found or not is_heard or not is_named or asked.limit <= 0:
            return found
        with self._changed:
            if self._waiters >= _WAITERS:
                self._unawaited += 1
                return found
            self._waiters += 1
        try:
            self._clock.sleep(_AGAIN_S)
        finally:
            with self._changed:
                self._waiters -= 1
        return self._look(asked, own)[0]

    def _look(self, asked: Asked, own: Own) -> tuple[tuple[Decision, ...], bool]:
        """What is there, and whether the database was heard."""
        try:
            rows, is_heard = self._table.find(asked), True
            self._troubles.discard(_FINDING)
        except GanttError as error:
            self._tell(_FINDING, error)
            rows, is_heard = [], False
        found = {(self._process, number): one for number, one in own(asked).items()}
        for row in rows:
            key = (row.process, row.number)
            # A write whose answer was lost is there twice.
            if key not in found:
                record = shared_form.decode(row.record)
                if record is not None and asked.means(record):
                    found[key] = record
        latest = sorted(found.values(), key=_at, reverse=True)
        return tuple(latest[: max(0, asked.limit)]), is_heard


def _at(record: Decision) -> int:
    return record.at
