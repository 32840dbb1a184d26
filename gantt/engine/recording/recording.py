"""Notes each decision and each change of the columns of this process.

Separate from the thread that writes them (``writing``): what is here runs on the path
of decisions, and must cost it next to nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import Final

from gantt.engine.clock import Clock
from gantt.engine.reading.replica import Replica
from gantt.engine.recording.options import RecordOptions
from gantt.engine.recording.tape import Asked, Found, Policed, Tape
from gantt.engine.recording.writing import Writing
from gantt.engine.scheduling.dice import Dice
from gantt.engine.threads import Threads
from gantt.errors import BudgetSpent, Invalid, NoValidHost, UnknownName
from gantt.model.changes import Change, Cursor
from gantt.model.record import BOOKS, REMOTE, REPORTS, Paused, Settled
from gantt.model.spec import ScheduleRequest
from gantt.scheduler import cycle
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.candidates import (
    BOOK_SOURCE,
    REPORT_SOURCE,
    CandidateSource,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.policy import Policy
from gantt.scheduler.selection.marks import bits_of
from gantt.scheduler.selection.picking import Selected
from gantt.state.state import State
from gantt.store.interface import Store

_SEED_BITS: Final = 63


class Recording:
    """Implements ChangeRecorder. ``last``: the number of the latest decision that was
    noted, read under the state lock; None: it was not. Raises StoreFailed."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        options: RecordOptions,
        search_budget: int,
        *,
        process: str,
        clock: Clock,
        threads: Threads,
        rng: random.Random,
    ) -> None:
        with replica.lock:
            self._tape = Tape(options.record_backlog, replica.state.cursor)
            replica.recorder = self
        self._rng = rng
        self._budget = search_budget
        self._number = 0
        self._noted: SchedulerOptions | None = None
        self.last: int | None = None
        self._writing = Writing(
            *(store, replica, self._tape, options, search_budget),
            process=process,
            clock=clock,
            threads=threads,
        )

    def counts(self) -> dict[str, float]:
        """What was written, and what could not be."""
        return self._writing.counts() | {
            "recorded_waiting": self._tape.waiting,
            "recorded_dropped": self._tape.dropped,
        }

    def flush(self) -> None:
        """Write what waits now."""
        self._writing.flush()

    def close(self) -> None:
        """Write what waits, and end the file."""
        self._writing.close()

    # -- ChangeRecorder -----------------------------------------------------------

    def applied(self, changes: Collection[Change], cursor: Cursor) -> None:
        self._tape.moved(changes, cursor)

    def reloaded(self) -> None:
        self._tape.tear("all tables were loaded again")

    # -- decisions ----------------------------------------------------------------

    def decide(
        self,
        state: State,
        request: ScheduleRequest,
        source: CandidateSource,
        driver: Driver,
        now: int,
        held: Mapping[int, HeldHost],
        rest: Callable[[], None],
    ) -> Selected:
        """``cycle.decide``, noted; it draws from a seed that is noted too. Raises what
        it raises."""
        number = self._begin(driver.policy)
        seed = self._rng.getrandbits(_SEED_BITS)
        dice, pause = Dice(seed), rest
        if number is not None:
            ids = state.fleet.hosts.id
            by_id = {int(ids[row]): one for row, one in held.items()} if held else held
            kind = _kind(source)
            self._tape.note(Asked(number, now, seed, kind, request, by_id))
            pause = self._pausing(state, number, rest)
        try:
            found = cycle.decide(
                *(state, request, source, driver),
                now=now,
                rng=dice,
                budget=self._budget,
                pause=pause,
                held=held,
            )
        except (NoValidHost, Invalid, UnknownName, BudgetSpent) as refusal:
            self._end(number, failure=refusal.message)
            raise
        except BaseException:
            self._end(number, is_left=True)
            raise
        self._end(number, found, ascends=driver.chooser is None)
        return found

    def settled(self, number: int | None, hosts: list[str], attempts: int) -> None:
        """What became of the claim of a decision."""
        if number is not None:
            self._tape.note(Settled(number, tuple(hosts), attempts))

    def _begin(self, policy: Policy) -> int | None:
        tape = self._tape
        self.last = None
        if not tape.has_room:
            tape.drop()
            return None
        # A new file begins with the options that the last one had.
        if policy.options is not self._noted:
            self._noted = policy.options
            tape.note(Policed(policy.options, _has_plugins(policy)))
        self._number += 1
        self.last = self._number
        return self._number

    def _end(
        self,
        number: int | None,
        found: Selected | None = None,
        failure: str | None = None,
        *,
        is_left: bool = False,
        ascends: bool = True,
    ) -> None:
        if number is None:
            return
        if found is None:
            self._tape.note(Found(number, b"", [], 0, failure, is_left))
            return
        feasible, picks = found.feasible, found.picks
        count = len(feasible.hosts.rows)
        bits = bits_of(feasible, picks, ascends=ascends)
        self._tape.note(Found(number, bits, picks, count))

    def _pausing(
        self, state: State, number: int, rest: Callable[[], None]
    ) -> Callable[[], None]:
        """``rest``, and a note where others wrote meanwhile."""
        applied, calls = state.applied, 0

        def pause() -> None:
            nonlocal applied, calls
            calls += 1
            rest()
            if state.applied != applied:
                applied = state.applied
                self._tape.note(Paused(number, calls))

        return pause


def _kind(source: CandidateSource) -> str:
    if source is BOOK_SOURCE:
        return BOOKS
    return REPORTS if source is REPORT_SOURCE else REMOTE


def _has_plugins(policy: Policy) -> bool:
    """Whether filters or weighers of other packages decide, which may read anything."""
    from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher

    used = (*policy.filters, *policy.weighers)
    return any(isinstance(one, GuardedFilter | GuardedWeigher) for one in used)
