"""Records in memory, pages of them, and a thread that writes them, in batches, to the
table that all processes share.

So nothing waits for the database: what it does not take waits, up to a limit, and is
written later. One for each kind of record.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.reading.outage import IsAway, not_away
from gantt.engine.threads import LeaderTask, Thread, Threads
from gantt.errors import GanttError
from gantt.model.paging import text_of
from gantt.scheduler.explain.refusal_reason import Scoreboard
from gantt.store.interface import RECORD_INSTANCES, RecordPage, SideTable

LOG = logging.getLogger(__name__)
PERIOD_S: Final = 0.2
"""Between two writes; a process that is killed loses the records of this time."""
_PAUSE_S: Final = 1.0
TRIM_S: Final = 10.0
N = TypeVar("N", bound="Record")
R = TypeVar("R")
A = TypeVar("A")
Place = tuple[Any, ...]


class Record(Protocol):
    """What is known of every record."""

    @property
    def request_id(self) -> str: ...


class Noted(Struct, Generic[N], frozen=True):
    """A record in memory, for so many ``instances``; ``board``: its scores, not yet
    formatted."""

    number: int
    record: N
    board: Scoreboard | None = None
    instances: int = 1
    is_refused: bool = False


class Ring(Generic[N]):
    """At most ``limit`` records, of which one for more than RECORD_INSTANCES counts as
    several. The oldest are dropped first; with ``spares_refusals``, successes are."""

    def __init__(self, limit: int, *, spares_refusals: bool = False) -> None:
        self.count = 0
        self._left = limit * RECORD_INSTANCES
        self._spares_refusals = spares_refusals
        self._queue: deque[Noted[N]] = deque()
        self._spared: deque[Noted[N]] = deque()

    def __len__(self) -> int:
        return self.count

    def add(self, one: Noted[N]) -> int:
        """How many were dropped to make room; the last one is not."""
        is_spared = self._spares_refusals and one.is_refused
        (self._spared if is_spared else self._queue).append(one)
        self.count += 1
        self._left -= max(one.instances, RECORD_INSTANCES)
        dropped = 0
        while self._left < 0 and self.count > 1:
            oldest = (self._queue or self._spared).popleft()
            self._left += max(oldest.instances, RECORD_INSTANCES)
            self.count -= 1
            dropped += 1
        return dropped

    def in_order(self) -> list[Noted[N]]:
        """All of them, the oldest first."""
        return sorted((*self._queue, *self._spared), key=lambda one: one.number)


def latest(
    own: Mapping[Place, Noted[N]],
    shared: RecordPage[R],
    limit: int,
    after: Place | None,
) -> tuple[list[Noted[N] | R], str]:
    """The latest of this process's and the shared ones, at most ``limit`` and fewer of
    records for many instances, and the ``next`` of their page. A row that was not read
    would come between those of this process: these end with the last row."""
    found: dict[Place, Noted[N] | R] = {**shared.rows, **own}
    last = () if shared.is_whole else min(shared.rows, default=())
    places = [one for one in found if one >= last and (after is None or one < after)]
    places.sort(reverse=True)
    sizes = (getattr(found[one], "instances", 1) for one in places)
    total = accumulate(max(size, RECORD_INSTANCES) for size in sizes)
    fitting = sum(size <= limit * RECORD_INSTANCES for size in total)
    shown = places[: min(limit, max(fitting, 1))]
    is_last = shared.is_whole and len(shown) == len(places)
    rest = "" if is_last or not shown else text_of(shown[-1])
    return [found[one] for one in shown], rest


class Written(Struct, Generic[N, R], frozen=True):
    """What is written. ``row``: of a record; raises TypeError or ValueError where it
    cannot be encoded, as a plug-in's values perhaps. ``thread``: its name. ``backlog``:
    how many may wait; ``keep``: how many the table has, and ``default_keep`` in other
    processes."""

    kind: str
    thread: str
    row: Callable[[Noted[N]], R]
    backlog: int
    keep: int
    default_keep: int
    spares_refusals: bool = False


class BackgroundWriter(Generic[N, R, A]):
    """Safe for many threads; its own starts with the first record."""

    def __init__(
        self,
        table: SideTable[R, A, int],
        written: Written[N, R],
        clock: Clock,
        threads: Threads,
        is_away: IsAway = not_away,
    ) -> None:
        self._table, self._of = table, written
        self._clock, self._threads = clock, threads
        self._is_away = is_away
        self._trim_at = clock.monotonic()
        self._lock = threads.lock()
        self._changed = threads.condition()
        self._stop = threads.event()
        self._thread: Thread | None = None
        self._is_closed = False
        self._backlog, self._taken = self._empty(), self._empty()
        self._since_trim = self._left = 0
        self.unwritten = self.trimmed = 0
        self._troubles: set[str] = set()

    def __len__(self) -> int:
        return len(self._backlog)

    @property
    def left(self) -> int:
        """Rows of the table, in the process that looked lately; else 0."""
        is_recent = self._clock.monotonic() < self._trim_at + 2 * TRIM_S
        return self._left if is_recent else 0

    def count(self) -> int:
        """How many are not written yet."""
        with self._lock:
            return self._taken.count + self._backlog.count

    def waiting(self) -> list[Noted[N]]:
        """Those that are not written yet, the oldest first."""
        with self._lock:
            return [*self._taken.in_order(), *self._backlog.in_order()]

    # -- writing ------------------------------------------------------------------

    def note(self, one: Noted[N]) -> None:
        """Queue it to be written."""
        with self._lock:
            is_first = self._backlog.count == 0
            self.unwritten += self._backlog.add(one)
            if self._thread is None and not self._is_closed:
                self._thread = self._threads.start(self._run, self._of.thread)
        if is_first:
            with self._changed:
                self._changed.notify()

    def close(self) -> None:
        """Write what waits, once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self.write()

    def _empty(self) -> Ring[N]:
        return Ring(self._of.backlog, spares_refusals=self._of.spares_refusals)

    def _run(self) -> None:
        pause_s = PERIOD_S
        while not self._is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._backlog or self._is_closed)
            if self._stop.wait(pause_s):
                return
            pause_s = PERIOD_S if self.write() else _PAUSE_S

    def write(self) -> bool:
        """Whether the database took what was waiting."""
        with self._lock:
            taken, self._backlog = self._backlog, self._empty()
            self._taken = taken
        text = f"{self._of.kind} cannot be shared and are kept until they can"
        try:
            rows = self._rows(taken)
            lost = len(taken) - len(rows)
            lost += self._table.append(rows) if rows else 0
            self._troubles.discard(text)
            self._trim_unless_led(len(rows))
        except GanttError as error:
            self._report(text, error)
            with self._lock:
                newer, self._backlog = self._backlog, taken
                self._taken = self._empty()
                self.unwritten += sum(map(taken.add, newer.in_order()))
            return False
        except Exception:  # a bug must not end the thread
            LOG.exception("%d %s are not shared", len(taken), self._of.kind)
            lost = len(taken)
        with self._lock:
            self._taken = self._empty()
            self.unwritten += lost
        return True

    def _rows(self, taken: Ring[N]) -> list[R]:
        """All but those that cannot be encoded."""
        rows = []
        for one in taken.in_order():
            try:
                rows.append(self._of.row(one))
            except (TypeError, ValueError) as error:
                name = one.record.request_id
                LOG.warning("the record of %r is not shared: %s", name, error)
        return rows

    # -- trimming -----------------------------------------------------------------

    def leader_task(self, name: str) -> LeaderTask:
        """What the leader does for all processes."""
        return LeaderTask(name, self._is_due, self._trim)

    def _is_due(self) -> bool:
        return self._clock.monotonic() >= self._trim_at

    def _trim(self) -> int:
        """How many rows were dropped. Raises StoreFailed, and is due again later."""
        self._trim_at = self._clock.monotonic() + TRIM_S
        return self._trim_to(self._of.keep)

    def _trim_unless_led(self, written: int) -> None:
        """The leader may be of a release without this table, so each process that has
        written many rows trims as well, but no other process's more generous limit."""
        self._since_trim += written
        keep = max(self._of.keep, self._of.default_keep)
        if self._since_trim > keep:
            try:
                self._trim_to(keep)
            except GanttError as error:  # again after the next write
                LOG.info("the table of %s was not trimmed: %s", self._of.kind, error)

    def _trim_to(self, keep: int) -> int:
        done = self._table.trim(keep)
        self._since_trim = 0
        self.trimmed += done.dropped
        self._left = done.left
        return done.dropped

    # -- finding ------------------------------------------------------------------

    def page(self, asked: A) -> RecordPage[R] | None:
        """Rows that may match; None: the database did not answer."""
        text = f"only {self._of.kind} of this process are available"
        try:
            found = self._table.page(asked)
            self._troubles.discard(text)
        except GanttError as error:
            self._report(text, error)
            return None
        return found

    def _report(self, text: str, error: GanttError) -> None:
        """Once per trouble, not five times a second; outages are logged elsewhere."""
        if text not in self._troubles and not self._is_away():
            self._troubles.add(text)
            LOG.warning("%s: %s", text, error)
