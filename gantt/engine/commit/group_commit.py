"""One batch: the commands that are planned together and committed in one transaction.

Separate from the committer, which owns the queue and tries again: here is what one
attempt does to the columns and to the tables, and how it is undone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from gantt.engine.clock import BooksClock
from gantt.engine.commit.pending_writes import PendingWrite, Queue
from gantt.engine.commit.preconditions import Relied, preconditions
from gantt.engine.observer import NoObserver, Observer
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.errors import GanttError, OutcomeUnknown, StoreFailed
from gantt.model.answers import Answer
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.placement.rules import plan
from gantt.store.interface import Store, Transaction
from gantt.store.outcomes import (
    CommitOutcome,
    DefiniteAbort,
    ForeignWrite,
    UnknownOutcome,
)

LOG = logging.getLogger(__name__)
_LONGEST_PAUSE_S = 1.0


class Batch(Struct):
    """What was assumed together, and the outcome for each caller."""

    uuid: str
    before: Cursor
    entries: list[LogEntry] = field(default_factory=list)
    relied: list[Relied] = field(default_factory=list)
    outcomes: list[tuple[PendingWrite[Answer], Answer | BaseException]] = field(
        default_factory=list
    )

    @property
    def end(self) -> Cursor:
        return Cursor(self.entries[-1].revision, self.uuid)

    @property
    def changes(self) -> list[Change]:
        """All changes, in the order in which they were assumed."""
        found: list[Change] = []
        for entry in self.entries:
            found += entry.changes
        return found


class Counts(Struct):
    """What the committer has done since it opened."""

    batches: int = 0
    commands: int = 0
    refusals: int = 0
    aborts: int = 0
    unknown_outcomes: int = 0
    foreign_writes: int = 0
    commit_seconds: float = 0.0


class GroupCommit:
    """Plans pending writes and commits them; in the committer's thread alone."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        log_tailer: LogTailer,
        queue: Queue,
        options: EngineOptions,
        *,
        clock: BooksClock,
        new_uuid: Callable[[], str],
    ) -> None:
        self._store = store
        self._replica = replica
        self._log_tailer = log_tailer
        self._outage = log_tailer.outage
        self._queue = queue
        self._planning_s = options.planning_ms / 1000
        self._clock = clock
        self._new_uuid = new_uuid
        self.counts = Counts()
        self.observer: Observer = NoObserver()
        self.origin: Callable[[], object] | None = None  # of ``observer``

    def commit(self, pending_writes: list[PendingWrite[Answer]], size: int) -> None:
        """Commit ``pending_writes``, and what has come by the time the lock is held up
        to ``size``, and resolve them; what does not fit waits in the queue again.

        Raises DefiniteAbort, ForeignWrite, DataError, GanttError: nothing was resolved.
        """
        with self._replica.committer:
            batch = self._pass(pending_writes, size)
        self.counts.batches += 1
        for pending_write, outcome in batch.outcomes:
            pending_write.resolve(outcome)

    def _pass(self, pending_writes: list[PendingWrite[Answer]], size: int) -> Batch:
        asked_at = self._clock.monotonic()
        transaction = self._store.begin()
        try:
            # What came while another process had the lock joins this batch.
            pending_writes += self._queue.more(size - len(pending_writes))
            with self._replica.turn:
                tail = transaction.tail(self._replica.state.cursor)
                self._log_tailer.apply_tail(tail)
                self._log_tailer.caught_up(asked_at)
                batch = self._assume(pending_writes, transaction.now())
                if batch.entries or batch.relied:
                    self._make_durable(batch, transaction)
            return batch
        finally:
            transaction.rollback()

    def _assume(
        self, pending_writes: list[PendingWrite[Answer]], database_now: int | None
    ) -> Batch:
        """Plan and apply one command after the other.

        What does not fit into the planning time leaves ``pending_writes`` and waits
        again.
        """
        clock = database_now
        if clock is None:
            clock = self._clock.now()
        else:
            self._clock.learn(clock)
        stamp = self._replica.stamp = max(self._replica.stamp, clock)
        batch = Batch(self._new_uuid(), self._replica.state.cursor)
        deadline = self._clock.monotonic() + self._planning_s
        for number, pending_write in enumerate(tuple(pending_writes)):
            if number and self._clock.monotonic() > deadline:
                late = pending_writes[pending_writes.index(pending_write) :]
                del pending_writes[-len(late) :]
                self._queue.put_back(late)
                break
            if not pending_write.claim():
                pending_writes.remove(pending_write)  # its caller has given up
                continue
            with self._replica.lock:
                batch.outcomes.append(
                    (
                        pending_write,
                        self._assume_one(pending_write, batch, stamp, clock),
                    )
                )
            self.counts.commands += 1
        return batch

    def _assume_one(
        self, pending_write: PendingWrite[Answer], batch: Batch, stamp: int, clock: int
    ) -> Answer | BaseException:
        state = self._replica.state
        try:
            planned = plan(state, pending_write.command, stamp, clock)
        except GanttError as refusal:
            self.counts.refusals += 1
            return refusal
        except Exception as error:  # a bug fails its own caller only
            LOG.exception("the rule for %r failed", pending_write.command)
            return error
        batch.relied.extend(planned.relied)
        if planned.changes:
            cursor = Cursor(state.revision + 1, batch.uuid)
            changes = self._store.as_kept(planned.changes)
            self._replica.assume(changes, cursor)
            batch.entries.append(
                LogEntry(
                    cursor.revision,
                    batch.uuid,
                    stamp,
                    type(pending_write.command).__name__,
                    pending_write.request_id,
                    changes,
                )
            )
        return planned.answer

    def _make_durable(self, batch: Batch, transaction: Transaction) -> None:
        started = self._clock.monotonic()
        try:
            transaction.write(
                batch.entries,
                preconditions(self._replica.state, batch.changes, batch.relied),
            )
            if batch.entries:
                transaction.commit()
        except UnknownOutcome as lost:
            self.counts.unknown_outcomes += 1
            LOG.warning("the answer to a commit was lost (%s): looking for it", lost)
            transaction.rollback()
            was_kept = self._was_kept(batch.end)
            if was_kept is None:
                # Its pending writes stay claimed: none may be reported as not done.
                self._replica.undo(batch.changes, batch.before)
                raise _not_known(
                    "this process was disconnected for so long that the log was "
                    "compacted past this write"
                ) from lost
            if not was_kept:
                self._take_back(batch)
                abort = DefiniteAbort("the commit was lost with its answer")
                raise (lost.failure or abort) from lost
        except ForeignWrite as foreign:
            was_overtaken = _was_overtaken(
                self._store, batch.before
            )  # while we have the lock
            transaction.rollback()
            self._take_back(batch)
            if was_overtaken:
                raise DefiniteAbort(
                    f"another committer was first ({foreign})"
                ) from foreign
            self._log_tailer.reload()
            raise
        except BaseException:
            transaction.rollback()
            self._take_back(batch)
            raise
        took_s = self._clock.monotonic() - started
        self.counts.commit_seconds += took_s
        self._replica.settle()
        if batch.entries:  # else it only looked at what it relies on
            self._outage.succeeded("write")
            origins: Sequence[object] = ()
            if self.origin is not None:
                origins = [write.origin for write, _ in batch.outcomes]
            self.observer.committed(len(batch.outcomes), took_s, origins)

    def _was_kept(self, end: Cursor) -> bool | None:
        """Whether the log has the batch: asks until the database answers. None: the log
        no longer goes back so far."""
        for pause_s in _pauses():
            try:
                found = self._store.has_batch(end)
            except (CommitOutcome, StoreFailed) as error:
                # A failure of this read says nothing about the batch.
                if self._queue.is_closing:
                    raise _not_known(error) from error
                self._outage.failed("write", error)
                self._clock.sleep(pause_s)
            else:  # an answer is no write: a full disk gives it as well
                return found
        raise AssertionError("unreachable: the pauses never end")

    def _take_back(self, batch: Batch) -> None:
        """Undo what was assumed; its pending writes may be claimed again."""
        self._replica.undo(batch.changes, batch.before)
        for pending_write, _ in batch.outcomes:
            pending_write.disclaim()


def _was_overtaken(store: Store, before: Cursor) -> bool:
    """Whether another engine wrote in spite of the lock, which does not hold between
    nodes of a Galera cluster: then that is why a row is not as it was."""
    try:
        return store.cursor() != before
    except StoreFailed:
        return False


def _not_known(why: object) -> OutcomeUnknown:
    return OutcomeUnknown(
        "The answer to a commit was lost, and its outcome is "
        f"unknown: it was applied completely, or not at all ({why}). "
        "Check before you retry."
    )


def _pauses() -> Iterator[float]:
    pause_s = 0.01
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
