"""Reads from the State of this process: how fresh it is, and what an answer waits for.

A query is a pure function of a State. What it was computed on may not be durable yet
(the committer applies changes before it commits them), so that an answer waits here
until it is; if the changes are rolled back instead, the query runs again.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeVar, TypeVarTuple

from gantt.engine.clock import Clock
from gantt.engine.observer import NoObserver, Observer
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.engine.reading.rest import Rest
from gantt.errors import BudgetSpent, Busy, GanttError
from gantt.model.answers import Candidates
from gantt.model.diagnosis import Diagnosis
from gantt.model.requests import CandidateRequest
from gantt.placement.candidates.explain import explain
from gantt.placement.candidates.search import search
from gantt.scheduler.pauses import Moved, within
from gantt.state.state import State

_MOST_RESTARTS: Final = 10
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class WouldWait(Exception):
    """An answer was wanted at once, and something has to be waited for."""


class Consistency(enum.Enum):
    """How fresh a State a read needs, and what its answer waits for."""

    DURABLE = "durable"
    """As fresh as the options say; the answer waits until it is durable."""
    ASSUMED = "assumed"
    """As fresh, but only a refusal waits: the committer checks the answer again."""
    LOCAL = "local"
    """The State of this process as it is: no catching up, no waiting."""


class Reader:
    """Runs queries; safe for many threads."""

    def __init__(self, replica: Replica, log_tailer: LogTailer, rest: Rest) -> None:
        self._replica = replica
        self._log_tailer = log_tailer
        self._rest = rest

    @property
    def revision(self) -> int:
        """The last durable revision that this process knows."""
        return self._replica.durable

    def is_current(self) -> bool:
        """See ``LogTailer.is_current``."""
        return self._log_tailer.is_current()

    def read(
        self,
        query: Callable[[State, *Ts], T],
        *args: *Ts,
        consistency: Consistency = Consistency.DURABLE,
    ) -> T:
        """The answer of ``query(state, *args)``, a pure function that is quick. Raises
        what ``query`` raises, and StoreFailed."""
        return self._run(query, args, consistency)

    def search(
        self,
        query: Callable[[State, *Ts], T],
        *args: *Ts,
        consistency: Consistency = Consistency.DURABLE,
    ) -> T:
        """Runs, as ``read`` does, a query that may take long: one at a time, and it may
        call ``rest``."""
        return self._run(query, args, consistency, rest=self._rest)

    def survey(
        self, query: Callable[[State, Callable[[], None], *Ts], T], *args: *Ts
    ) -> T:
        """Runs, as ``read`` does, a query that looks at everything, and calls the pause
        that it is given after the State: no search waits for it, and others read and
        write in between, so that it must look up by name what it saw before."""
        rest = self._rest.apart()
        return self._run(query, (rest, *args), Consistency.DURABLE, rest=rest)

    def read_touched(
        self,
        query: Callable[[State, *Ts], tuple[T, int]],
        *args: *Ts,
        at_once: bool = False,
    ) -> T:
        """Runs, as ``read`` does, a query that also returns when the rows that it used
        last changed (``State.applied``): the answer waits for no later change. With
        ``at_once`` it waits for nothing, neither the database nor the columns nor a
        commit: raises WouldWait instead."""
        if at_once:
            return self._read_at_once(query, args)
        answer, _ = self._run(
            query, args, Consistency.DURABLE, touched=lambda found: found[1]
        )
        return answer

    def _read_at_once(
        self, query: Callable[[State, *Ts], tuple[T, int]], args: tuple[*Ts]
    ) -> T:
        if not self._log_tailer.is_fresh():
            raise WouldWait
        replica = self._replica
        if not replica.lock.acquire(blocking=False):
            raise WouldWait
        try:
            answer, touched = query(replica.state, *args)
            if touched > replica.settled:
                raise WouldWait
        finally:
            replica.lock.release()
        return answer

    def rest(self) -> None:
        """Within a search: if it has held the columns for long, let other threads use
        them. Raises Moved when the query must start again."""
        self._rest()

    def _run(
        self,
        query: Callable[[State, *Ts], T],
        args: tuple[*Ts],
        consistency: Consistency,
        *,
        rest: Rest | None = None,
        touched: Callable[[T], int] | None = None,
    ) -> T:
        replica = self._replica
        is_search = rest is self._rest
        restarts = 0
        while True:
            if consistency is not Consistency.LOCAL:
                self._log_tailer.freshen()
            refusal: GanttError | None = None
            if is_search:
                replica.search.acquire()
            try:
                with replica.lock:
                    if rest is not None:
                        rest.begin(restarts)
                    try:
                        answer = query(replica.state, *args)
                    except Moved:
                        restarts += 1
                        if restarts > _MOST_RESTARTS:
                            raise Busy(
                                f"Hosts or providers were removed or moved {restarts} "
                                "times while this was decided. Try again."
                            ) from None
                        continue
                    except GanttError as error:
                        if consistency is Consistency.LOCAL:
                            raise
                        refusal = error
                    else:
                        if consistency is not Consistency.DURABLE:
                            return answer
                        if touched is not None and touched(answer) <= replica.settled:
                            return answer
                    # Afterwards: others may have written while a long query rested.
                    mark = replica.mark
            finally:
                if is_search:
                    replica.search.release()
            if not replica.wait(mark, self._log_tailer.admission):
                continue
            if refusal is not None:
                raise refusal
            return answer


class Truncatable(Protocol):
    """An answer that a work budget may have cut short."""

    @property
    def is_truncated(self) -> bool:
        """Whether it was."""

    @property
    def count(self) -> int:
        """How much was found."""


A = TypeVar("A", bound=Truncatable)


class CandidateSearch:
    """``budget``: steps of one search."""

    def __init__(
        self, reader: Reader, budget: int, clock: Clock, rng: random.Random
    ) -> None:
        self._reader = reader
        self._budget = budget
        self._clock = clock
        self._rng = rng
        self._cut = 0
        self._observer: Observer = NoObserver()

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        return self.search(search, request)

    def search(
        self, query: Callable[..., A], request: CandidateRequest, *args: object
    ) -> A:
        """Run ``query(state, request, *args, rng=, budget=)``, a search for candidates
        within this engine's budget. Raises UnknownName, BudgetSpent, StoreFailed."""
        rng = self._rng if request.randomize else None
        bounded = partial(query, rng=rng, budget=self._budget)
        started = self._clock.monotonic()
        try:
            found = self._reader.search(bounded, request, *args)
        except BudgetSpent:
            self._cut += 1
            raise
        self._cut += found.is_truncated
        self._observer.searched(self._clock.monotonic() - started, found.count)
        return found

    def explain_candidates(self, request: CandidateRequest) -> Diagnosis:
        return self._reader.search(self._explained, request)

    def _explained(self, state: State, request: CandidateRequest) -> Diagnosis:
        pause = within(state, None, self._reader.rest)
        return explain(state, request, budget=self._budget, pause=pause)

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of each search from now on."""
        self._observer = observer

    def counts(self) -> dict[str, float]:
        """How many searches were cut short, and the limit; for metrics."""
        return {"searches_cut": self._cut, "search_limit": self._budget}
