"""Pauses of a long search, so that other threads can use the columns in between.

Between two steps it keeps ``search``, so that no other search begins meanwhile, and
releases ``lock``: small reads and the committer wait for one slice of it at most. While
it waits for something else (``aside``), or may take seconds (``give_way``), it releases
both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from gantt.engine.clock import Clock
from gantt.engine.reading.replica import Replica
from gantt.errors import Busy
from gantt.scheduler.pauses import Moved, RowsMoved, RowValidity

REST_S: Final = 0.001
_MOST_RESTARTS: Final = 2
_MOST_HELD_S: Final = 1.0
_MORE_OFTEN: Final = 4
T = TypeVar("T")


class Rest:
    """For the search that runs: it holds the columns for ``slice_s``, and longer where
    it cannot be interrupted; ``taken``: how many rests there were."""

    def __init__(self, replica: Replica, clock: Clock, slice_s: float) -> None:
        self._replica = replica
        self._clock = clock
        self._since = 0.0
        self._epoch = 0
        self._is_allowed = False
        self._validity: RowValidity | None = None
        self._slice_s = slice_s
        self.taken = 0

    def apart(self) -> Rest:
        """For a question that takes no turn among searches, and rests more often: much
        may be asked at the same time."""
        return Rest(self._replica, self._clock, self._slice_s / _MORE_OFTEN)

    def begin(self, restarts: int) -> None:
        """A search begins, under both locks; one that was restarted too often is not
        interrupted any more."""
        self._since = self._clock.monotonic()
        self._epoch = self._replica.epoch
        self._is_allowed = restarts < _MOST_RESTARTS
        self._validity = None

    def __call__(self) -> None:
        """Raises Moved when the columns were replaced or rolled back meanwhile."""
        if not self._is_allowed:
            return
        if self._clock.monotonic() - self._since < self._slice_s:
            return
        self.taken += 1
        self._replica.lock.release()
        try:
            # Without a pause this thread would mostly get the lock again at once.
            self._clock.sleep(REST_S)
        finally:
            self._replica.lock.acquire()
        self._since = self._clock.monotonic()
        if self._replica.epoch != self._epoch:
            raise Moved

    def give_way(self, meanwhile: Callable[[], None]) -> None:
        """Rests within a query that may take seconds: ``meanwhile`` runs without the
        locks, so that other searches go on too, and it holds the columns for a second
        at most. Raises Moved also when row numbers are no longer valid, and Busy where
        it would take longer than that."""
        held_s, epoch = self._clock.monotonic() - self._since, self._epoch
        if not self._is_allowed and held_s >= _MOST_HELD_S:
            raise Busy(
                "Hosts or amounts changed each time while this was counted or placed, "
                "and it takes too long to keep them from that. Ask about fewer flavors "
                "or items at once, or again when less is written."
            )
        if not self._is_allowed or held_s < self._slice_s:
            return
        self.taken += 1
        self.aside(meanwhile)
        if self._replica.epoch != epoch:
            raise Moved

    def aside(self, run: Callable[[], T], *, has_search: bool = True) -> T:
        """What ``run`` answers, with ``lock`` released meanwhile, and ``search`` where
        the caller holds it. Raises Moved when row numbers are no longer valid
        afterwards (in a search: others do not use earlier ones), and what ``run``
        raises, holding the locks again in any case."""
        replica = self._replica
        validity = self._validity
        if has_search and validity is None:
            validity = RowValidity(replica.state)
        epoch, is_allowed = self._epoch, self._is_allowed
        replica.lock.release()
        if has_search:
            replica.search.release()
        try:
            answer = run()
        finally:
            if has_search:
                replica.search.acquire()
            replica.lock.acquire()
            if has_search:
                # Another search may have begun and ended.
                self._epoch, self._is_allowed = epoch, is_allowed
                self._validity = validity
                self._since = self._clock.monotonic()
        if has_search and not (validity and validity.holds(replica.state)):
            raise RowsMoved if replica.epoch == epoch else Moved
        return answer
