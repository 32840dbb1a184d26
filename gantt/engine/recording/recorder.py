"""Notes each decision and each change of the columns of this process.

Separate from the thread that writes them (``writing``): what is here runs on the path
of decisions, and must cost it next to nothing.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from gantt.engine.clock import Clock
from gantt.engine.options import RecordOptions
from gantt.engine.reading.replica import Replica
from gantt.engine.recording.dice import SeededDice
from gantt.engine.recording.entry_queue import (
    DecisionEntry,
    DecisionStart,
    EntryQueue,
    PolicyEntry,
)
from gantt.engine.recording.record_writer import Writing
from gantt.engine.recording.request_forms import CommonRequests
from gantt.engine.threads import Threads
from gantt.errors import BudgetSpent, Invalid, NoValidHost, UnknownName
from gantt.model.changes import Change, Cursor
from gantt.model.record import BOOKS, REMOTE, REPORTS, Paused, Settled
from gantt.model.spec import ScheduleRequest
from gantt.scheduler import cycle
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.feasibility.candidate_sources import (
    BOOK_SOURCE,
    REPORT_SOURCE,
    CandidateSource,
)
from gantt.scheduler.held_host import HeldHost
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.selection.marks import pack_choices
from gantt.scheduler.selection.picks import InstancePicks
from gantt.scheduler.stages import Mark
from gantt.state.state import State
from gantt.store.interface import Store

LOG = logging.getLogger(__name__)
_SEED_BITS: Final = 63
_NONE: Final[Mapping[int, HeldHost]] = MappingProxyType({})


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
        self._rng = rng
        self._budget = search_budget
        self._number = 0
        # One draw: to ask the system for each decision costs it microseconds.
        self._seed = rng.getrandbits(_SEED_BITS - 1)
        self._kinds = CommonRequests()
        self._noted: SchedulerOptions | None = None
        self.last: int | None = None
        self._open: list[_Pause] = []  # of decisions under way
        with replica.lock:
            cursor, many = replica.state.cursor, threads.condition()
            self._queue = EntryQueue(options.record_backlog, cursor, many)
            replica.recorder = self
        self._writing = Writing(
            store=store,
            replica=replica,
            queue=self._queue,
            options=options,
            search_budget=search_budget,
            process=process,
            clock=clock,
            threads=threads,
        )

    def counts(self) -> dict[str, float]:
        """What was written, and what could not be."""
        return self._writing.counts() | {
            "recorded_waiting": self._queue.waiting,
            "recorded_dropped": self._queue.dropped,
        }

    def flush(self) -> None:
        """Write what waits now."""
        self._writing.flush()

    def close(self) -> None:
        """Write what waits, and end the file."""
        self._writing.close()

    # -- ChangeRecorder -----------------------------------------------------------

    def applied(self, changes: Collection[Change], cursor: Cursor) -> None:
        if self._open:
            self._note_open()
        self._queue.moved(changes, cursor)

    def reloaded(self) -> None:
        self._queue.break_off("all tables were loaded again")

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
        mark: Mark | None = None,
    ) -> InstancePicks:
        """``cycle.decide``, noted; it draws from a seed that is noted too. Raises what
        it raises."""
        decided = partial(
            cycle.decide,
            state,
            request,
            source,
            driver,
            now=now,
            budget=self._budget,
            held=held,
            mark=mark,
        )
        asked = self._begin(state, request, source, driver.policy, now, held)
        if asked is None:
            return decided(rng=self._rng, pause=rest)
        pause = _Pause(self._queue, state, rest, asked)
        found = self._watched(pause, decided)
        ascends, count = driver.chooser is None, len(found.feasible.hosts.rows)
        try:
            choices = pack_choices(found.feasible, found.picks, ascends=ascends)
        except Exception as error:  # the decision stands without a record
            self._queue.break_off(f"a decision cannot be written: {error!r}")
            choices = b""
        self._queue.note(DecisionEntry(asked.number, pause.asked, choices, count))
        return found

    def _watched(
        self, pause: _Pause, decided: Callable[..., InstancePicks]
    ) -> InstancePicks:
        """The decision, while what others write is noted; its failure is noted too."""
        self._open.append(pause)
        try:
            return decided(rng=SeededDice(pause.seed), pause=pause)
        except (NoValidHost, Invalid, UnknownName, BudgetSpent) as refusal:
            failure = refusal.message
            self._queue.note(DecisionEntry(pause.number, pause.asked, failure=failure))
            raise
        except BaseException:
            self._queue.note(DecisionEntry(pause.number, pause.asked, is_left=True))
            raise
        finally:
            self._open.remove(pause)

    def settled(self, number: int | None, hosts: list[str], attempts: int) -> None:
        """What became of the claim of a decision."""
        if number is not None:
            self._queue.note(Settled(number, tuple(hosts), attempts))

    def _begin(
        self,
        state: State,
        request: ScheduleRequest,
        source: CandidateSource,
        policy: Policy,
        now: int,
        held: Mapping[int, HeldHost],
    ) -> DecisionStart | None:
        """None: the decision is left out of the record."""
        queue = self._queue
        self.last = None
        if not queue.has_room():
            queue.drop()
            return None
        try:
            kind = self._kinds.of(request)
        except Exception:  # the request is decided without a record
            LOG.exception("a request cannot be recorded")
            queue.refuse("a request could not be written")
            return None
        # A new file begins with the options that the last one had.
        if policy.options is not self._noted:
            self._note_open()
            if queue.note(PolicyEntry(policy.options, _has_plugins(policy))):
                self._noted = policy.options
        self._number = self.last = number = self._number + 1
        return DecisionStart(
            number,
            now,
            self._seed + number,
            _source(source),
            kind,
            request.instance_uuids,
            request.request_id,
            request.spec.instance_uuid,
            _by_id(state, held) if held else _NONE,
        )

    def _note_open(self) -> None:
        """What comes next in the queue is not what decisions under way began with: one
        may be, while a plug-in is called or it rests."""
        for pause in self._open:
            pause.note_begin()


class _Pause:
    """The rest of a decision, with a note where others wrote meanwhile. ``asked``: its
    beginning, while that is not noted: mostly its end has both."""

    __slots__ = (
        "_applied",
        "_calls",
        "_queue",
        "_rest",
        "_state",
        "asked",
        "number",
        "seed",
    )

    def __init__(
        self,
        queue: EntryQueue,
        state: State,
        rest: Callable[[], None],
        asked: DecisionStart,
    ) -> None:
        self._queue, self._state, self._rest = queue, state, rest
        self._applied, self._calls = state.applied, 0
        self.number, self.seed = asked.number, asked.seed
        self.asked: DecisionStart | None = asked

    def note_begin(self) -> None:
        """Note that it has begun, unless that is noted."""
        if self.asked is not None:
            self._queue.note(self.asked)
            self.asked = None

    def __call__(self) -> None:
        self._calls += 1
        self._rest()
        if self._state.applied != self._applied:
            self._applied = self._state.applied
            self._queue.note(Paused(self.number, self._calls))


def _by_id(state: State, held: Mapping[int, HeldHost]) -> Mapping[int, HeldHost]:
    ids = state.fleet.hosts.id
    return {int(ids[row]): one for row, one in held.items()}


def _source(source: CandidateSource) -> str:
    if source is BOOK_SOURCE:
        return BOOKS
    return REPORTS if source is REPORT_SOURCE else REMOTE


def _has_plugins(policy: Policy) -> bool:
    """Whether filters or weighers of other packages decide, which may read anything."""
    from gantt.scheduler.plugins.guards import GuardedFilter, GuardedWeigher

    used = (*policy.filters, *policy.weighers)
    return any(isinstance(one, GuardedFilter | GuardedWeigher) for one in used)
