"""Records in memory, how many of them are kept, and pages of them.

Apart from ``records``, because those that wait to be written are kept in the same way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from gantt.model.paging import text_of
from gantt.scheduler.explain.why import Scoreboard
from gantt.store.interface import RECORD_INSTANCES, RecordPage

N = TypeVar("N", bound="Record")
R = TypeVar("R")
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
