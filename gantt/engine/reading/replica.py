"""The columns of this process, their locks, and how much of them is durable.

Between "assumed" and "durable" a reader may compute but must not answer: it takes a
``Mark`` with its answer and waits until that mark is durable. A rollback or a reload
begins a new epoch, and a reader that waits on the old one computes again.

Locks, in the order in which they are taken: ``committer`` (a batch, until it has
released the database's lock) before ``turn`` (catching up, or a batch between assume
and settle) before ``search`` (one search at a time) before ``lock`` (the columns, for
array passes and plans). A long search releases ``lock`` from time to time (``rest``),
and both while plug-ins are called; it keeps the turn of decisions (``plugin_threads``),
which is waited for with neither of them held.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple, Protocol

from gantt.engine.reading.admission import AdmissionControl
from gantt.engine.reading.lost_history import REMEMBERED
from gantt.engine.threads import SystemThreads, Threads
from gantt.errors import StoreFailed
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.state.state import State

LOG = logging.getLogger(__name__)


class ChangeListener(Protocol):
    """Learns of every change as it is applied; called under ``lock``, so it must be
    quick, and must not raise."""

    def applied(self, state: State, changes: Collection[Change]) -> None:
        """These were applied, up to the revision of ``state``."""

    def undone(self, revision: int) -> None:
        """All that was applied after ``revision`` was rolled back."""


class ChangeRecorder(Protocol):
    """Notes all that becomes of the columns, in order; called under ``lock``, so it
    must be quick, and must not raise. One that does is told ``reloaded``, since what
    it noted no longer leads to what is there; if that fails too, it is let go."""

    def applied(self, changes: Collection[Change], cursor: Cursor) -> None:
        """These were applied, and the columns stand at ``cursor``; also where they undo
        others."""

    def reloaded(self) -> None:
        """What comes next does not go on from what was noted: the columns were
        replaced."""


class Mark(NamedTuple):
    """What an answer was computed at."""

    epoch: int
    revision: int


class Replica:
    """A State with its locks. A reload replaces ``state``: read it under ``lock``."""

    def __init__(
        self, state: State, threads: Threads | None = None, *, stamp: int = 0
    ) -> None:
        threads = threads or SystemThreads()
        self.state = state
        # The latest time known from the log; under ``turn``.
        self.stamp = stamp
        self.lock = threads.lock()
        self.search = threads.lock()
        self.turn = threads.lock()
        self.committer = threads.lock()
        self.epoch = 0
        self.durable = state.revision
        # Where the last batches that are durable ended, oldest first; under ``turn``.
        self.remembered: deque[Cursor] = deque([state.cursor], REMEMBERED)
        self.listener: ChangeListener | None = None
        self.recorder: ChangeRecorder | None = None
        # As ``durable``, in calls of ``State.apply``: to compare ``touched`` with.
        self.settled = state.applied
        self._settled = threads.condition()
        # How many threads wait for it; counted before they look.
        self._waiting = 0

    @property
    def mark(self) -> Mark:
        """The position of the columns; read under ``lock``."""
        return Mark(self.epoch, self.state.revision)

    def wait(self, mark: Mark, admission: AdmissionControl) -> bool:
        """True once ``mark`` is durable, False when its epoch is over.

        Raises StoreFailed when neither happens in time.
        """
        if self.durable >= mark.revision and self.epoch == mark.epoch:
            return True

        def is_over() -> bool:
            return self.durable >= mark.revision or self.epoch != mark.epoch

        if not admission.await_turn(partial(self._wait_until, is_over)):
            raise StoreFailed(
                f"Revision {mark.revision} did not become durable in time; the "
                "database does not answer. Try again later."
            )
        return self.epoch == mark.epoch

    def _wait_until(self, is_over: Callable[[], bool], timeout_s: float) -> bool:
        with self._settled:
            self._waiting += 1
            try:
                return bool(self._settled.wait_for(is_over, timeout_s))
            finally:
                self._waiting -= 1

    def wait_beyond(self, revision: int, epoch: int, timeout_s: float) -> None:
        """Return when more than ``revision`` is durable, ``epoch`` is over, or the
        time."""
        self._wait_until(
            lambda: self.durable > revision or self.epoch != epoch, timeout_s
        )

    def assume(self, changes: Collection[Change], cursor: Cursor) -> None:
        """Apply what is planned but not yet durable; under ``lock`` and ``turn``."""
        self._apply(changes, cursor)

    def _apply(self, changes: Collection[Change], cursor: Cursor) -> None:
        self.state.apply(changes, cursor)
        if self.recorder is not None:
            self._note(self.recorder, changes, cursor)
        self._tell(lambda listener: listener.applied(self.state, changes))

    def _note(
        self, recorder: ChangeRecorder, changes: Collection[Change], cursor: Cursor
    ) -> None:
        """A defect of what records must fail no write, and leave no record with a
        gap."""
        try:
            recorder.applied(changes, cursor)
        except Exception:
            name = type(recorder).__name__
            LOG.exception("%s failed to note changes, and is to begin again", name)
            self._note_reload(recorder)

    def _note_reload(self, recorder: ChangeRecorder) -> None:
        try:
            recorder.reloaded()
        except Exception:
            name = type(recorder).__name__
            LOG.exception("%s failed to begin again, and is told nothing more", name)
            self.recorder = None

    def _tell(self, say: Callable[[ChangeListener], None]) -> None:
        """A defect of what listens must fail no write."""
        listener = self.listener
        if listener is not None:
            try:
                say(listener)
            except Exception:
                LOG.exception("%s failed to learn of changes", type(listener).__name__)

    def settle(self) -> None:
        """All that was assumed is durable."""
        self.durable = self.state.revision
        self._remember(self.state.cursor)
        self.settled = self.state.applied
        if self._waiting:
            with self._settled:
                self._settled.notify_all()

    def undo(self, changes: Iterable[Change], before: Cursor) -> None:
        """Undo what was assumed since ``before``; under ``turn``."""
        with self.lock:
            inverses = [change.inverse() for change in reversed(list(changes))]
            self.state.apply(inverses, before)
            if self.recorder is not None:
                self._note(self.recorder, inverses, before)
            self._tell(lambda listener: listener.undone(before.revision))
            self._begin_epoch()

    def follow(self, entries: Iterable[LogEntry]) -> None:
        """Apply what others committed; under ``turn``."""
        for entry in entries:
            cursor = Cursor(entry.revision, entry.batch)
            with self.lock:
                self._apply(entry.changes, cursor)
            self.stamp = max(self.stamp, entry.at)
            self._remember(cursor)
        self.settle()

    def _remember(self, cursor: Cursor) -> None:
        """The end of a batch, so far."""
        if self.remembered and self.remembered[-1].batch == cursor.batch:
            self.remembered.pop()
        self.remembered.append(cursor)

    def reload(self, load: Callable[[], tuple[State, int]]) -> None:
        """Replace the State by what the store has; under ``turn``."""
        state, stamp = load()
        self.stamp = max(self.stamp, stamp)
        with self.lock:
            self.state = state
            self.remembered.clear()
            if self.recorder is not None:
                self._note_reload(self.recorder)
            self._begin_epoch()

    def _begin_epoch(self) -> None:
        self.epoch += 1
        self.settle()
