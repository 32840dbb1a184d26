"""The committer: the one place that changes anything.

A batch goes through these steps (ARCHITECTURE.md, "How a write works"): take the head
lock, catch up with the log, plan each command against the newest columns and assume it,
write rows and log, commit, then tell the callers. No other process plans while the lock
is held, so what was planned holds. If the commit fails, the inverses undo what was
assumed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from msgspec.structs import asdict

from gantt.engine.clock import BooksClock
from gantt.engine.commit.group_commit import GroupCommit
from gantt.engine.commit.pending_writes import PendingWrite, Queue
from gantt.engine.observer import Observer
from gantt.engine.options import EngineOptions
from gantt.engine.reading.log_tailer import LogTailer
from gantt.engine.reading.replica import Replica
from gantt.engine.threads import Threads
from gantt.errors import Busy, GanttError, StoreFailed, Unavailable, Unstorable
from gantt.model.answers import Answer
from gantt.model.commands import Command
from gantt.store.interface import Store
from gantt.store.outcomes import (
    DataError,
    DefiniteAbort,
    ForeignWrite,
)

A = TypeVar("A")
LOG = logging.getLogger(__name__)


class _Caller(threading.local):
    """The request that the current thread submits for."""

    request_id = ""


class Committer:
    """Owns the writer thread. ``new_uuid`` names batches."""

    def __init__(
        self,
        store: Store,
        replica: Replica,
        log_tailer: LogTailer,
        options: EngineOptions,
        *,
        clock: BooksClock,
        threads: Threads,
        new_uuid: Callable[[], str],
    ) -> None:
        self._replica = replica
        self._log_tailer = log_tailer
        self._outage = log_tailer.outage
        self._batch_size = options.batch_size
        self._queue_length = options.queue_length
        self._attempts = options.commit_attempts
        self._threads = threads
        self._caller = _Caller()
        self._queue = Queue(options, log_tailer.admission, threads)
        self._group = GroupCommit(
            store,
            replica,
            log_tailer,
            self._queue,
            options,
            clock=clock,
            new_uuid=new_uuid,
        )
        self._thread = threads.start(self._run, "gantt-committer")

    def submit(self, command: Command[A], request_id: str = "") -> A:
        """Carry out ``command``; returns its answer when it is durable. ``request_id``
        "": that of ``bearing``.

        Raises its refusal, Busy when it was turned away, StoreFailed.
        """
        request_id = request_id or self._caller.request_id
        origin = self._group.origin
        about = None if origin is None else origin()
        return self._queue.wait_for(
            PendingWrite(command, request_id, self._threads, about)
        )

    def submit_all(self, commands: Sequence[Command[A]]) -> list[A | GanttError]:
        """Carry out each of ``commands`` by itself, in order: its answer, or its
        refusal. No more than a batch of them wait at a time, so that others have their
        turn in between. Raises Unavailable; later ones may be carried out then."""
        found: list[A | GanttError] = []
        origin = self._group.origin
        about = None if origin is None else origin()
        size = min(self._batch_size, self._queue_length)
        for start in range(0, len(commands), size):
            waiting = [
                PendingWrite(command, self._caller.request_id, self._threads, about)
                for command in commands[start : start + size]
            ]
            self._queue.enter(*waiting)
            for one in waiting:
                try:
                    found.append(self._queue.outcome_of(one))
                except Unavailable:
                    raise
                except GanttError as refusal:
                    found.append(refusal)
        return found

    @contextmanager
    def bearing(self, request_id: str) -> Iterator[None]:
        """Within this context, what this thread submits belongs to the request
        ``request_id``."""
        self._caller.request_id = request_id
        try:
            yield
        finally:
            self._caller.request_id = ""

    @property
    def request_id(self) -> str:
        """The id that ``bearing`` was given; "": outside of it."""
        return self._caller.request_id

    def observe(self, observer: Observer) -> None:
        """Report each batch to ``observer`` from now on."""
        self._group.observer, self._group.origin = observer, observer.origin

    def counts(self) -> dict[str, float]:
        """What it has done since it opened, by name; for metrics."""
        return {
            "queue_length": len(self._queue),
            "busy": self._queue.turned_away,
            **asdict(self._group.counts),
        }

    def close(self) -> None:
        """Finish what waits and stop the thread."""
        self._queue.close()
        self._thread.join()

    # -- the writer thread --------------------------------------------------------

    def _run(self) -> None:
        size = self._batch_size
        while pending_writes := self._queue.take(size):
            try:
                self._carry_out(pending_writes, size)
            except Exception as error:
                LOG.exception("the committer aborted a batch: reloading all tables")
                _resolve_rest(pending_writes, error)
                self._start_over()

    def _start_over(self) -> None:
        """Load everything again: after a bug the columns may be wrong."""
        try:
            with self._replica.turn:
                self._log_tailer.reload()
        except GanttError as error:
            LOG.error("the tables could not be reloaded: %s", error)

    def _carry_out(self, pending_writes: list[PendingWrite[Answer]], size: int) -> None:
        """Commit ``pending_writes``, and what arrives before they have the lock up to
        ``size``, as one batch, with as many attempts as the options allow."""
        for _ in range(self._attempts):
            try:
                self._group.commit(pending_writes, size)
                return
            except DefiniteAbort as abort:
                self._group.counts.aborts += 1
                LOG.info(
                    "batch of %d aborted, planning again: %s",
                    len(pending_writes),
                    abort,
                )
            except ForeignWrite as foreign:
                self._group.counts.foreign_writes += 1
                LOG.critical(
                    "another program writes to this database (%s): all tables "
                    "were reloaded. Stop the other writer.",
                    foreign,
                )
            except DataError as error:
                self._replay_singly(pending_writes, error)
                return
            except GanttError as error:
                if type(error) is StoreFailed:  # not: its outcome is unknown
                    self._outage.failed("write", error)
                _resolve_rest(pending_writes, error)
                return
        _resolve_rest(
            pending_writes,
            Busy(
                f"The database aborted this write {self._attempts} "
                "times. Try again shortly."
            ),
        )

    def _replay_singly(
        self, pending_writes: list[PendingWrite[Answer]], error: DataError
    ) -> None:
        if len(pending_writes) > 1:
            for pending_write in pending_writes:
                self._carry_out([pending_write], 1)
            return
        pending_writes[0].resolve(
            Unstorable(f"This database cannot hold a value of the request: {error}")
        )


def _resolve_rest(
    pending_writes: Sequence[PendingWrite[Answer]], error: BaseException
) -> None:
    for pending_write in pending_writes:
        if not pending_write.is_resolved:
            pending_write.resolve(error)
