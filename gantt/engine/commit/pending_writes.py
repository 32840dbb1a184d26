"""Pending writes: commands that wait for the committer, and their callers.

Separate from the committer because it is about a queue, not about the books: how many
callers may wait, how long, and what they get if they leave it without an answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from gantt.engine.options import EngineOptions
from gantt.engine.reading.admission import AdmissionControl
from gantt.engine.threads import Threads
from gantt.errors import Busy, OutcomeUnknown, StoreFailed
from gantt.model.answers import Answer
from gantt.model.commands import Command

A = TypeVar("A")


class PendingWrite(Generic[A]):
    """One caller's command on its way through the committer.

    The first to claim it decides what becomes of it: the committer by planning it, or
    the caller by giving up, after which it is never carried out.
    """

    def __init__(
        self,
        command: Command[A],
        request_id: str,
        threads: Threads,
        origin: object = None,
    ) -> None:
        """``origin``: see Observer."""
        self.command = command
        self.request_id = request_id
        self.origin = origin
        self.is_resolved = False
        self._answer: A
        self._error: BaseException | None = None
        # A lock that is taken until the outcome is known: the lightest one-shot event.
        self._pending = threads.lock()
        self._pending.acquire()
        self._claim = threads.lock()

    def claim(self) -> bool:
        """Whether the calling thread has it now; False: it was claimed before."""
        return self._claim.acquire(blocking=False)

    def disclaim(self) -> None:
        """It was not carried out; it may be claimed again."""
        self._claim.release()

    def resolve(self, outcome: A | BaseException) -> None:
        """Wake the caller with an answer or an error."""
        if isinstance(outcome, BaseException):
            self._error = outcome
        else:
            self._answer = outcome
        self.is_resolved = True
        self._pending.release()

    def is_settled(self, timeout_s: float) -> bool:
        """Whether the outcome is known, after waiting for it for so long."""
        return self._pending.acquire(timeout=timeout_s)

    def result(self) -> A:
        """The answer. Raises the refusal."""
        if self._error is not None:
            raise self._error
        return self._answer


class Queue:
    """Pending writes in the order of arrival. ``turned_away``: how many callers got
    Busy."""

    def __init__(
        self, options: EngineOptions, admission: AdmissionControl, threads: Threads
    ) -> None:
        self._options = options
        self._admission = admission
        self._pending: deque[PendingWrite[Answer]] = deque()
        self._lock = threads.lock()
        # Taken while there is nothing to take: the committer waits for its release.
        self._news = threads.lock()
        self._news.acquire()
        self._is_idle = False
        self.is_closing = False
        self.turned_away = 0

    def __len__(self) -> int:
        return len(self._pending)

    def wait_for(self, pending_write: PendingWrite[A]) -> A:
        """Enqueue it and wait for the outcome. Raises as ``outcome_of``, and Busy."""
        self.enter(pending_write)
        return self.outcome_of(pending_write)

    def outcome_of(self, pending_write: PendingWrite[A]) -> A:
        """Wait for the outcome of one that was enqueued.

        Waiting callers occupy threads that readers need, so while the committer stalls
        only ``patient`` of them stay. Raises the refusal, Busy (the command was not
        carried out and will not be), OutcomeUnknown, StoreFailed (closed).
        """
        admission, limit_s = self._admission, self._admission.limit_s
        if pending_write.is_settled(admission.first_s):
            return pending_write.result()
        with admission.seat() as has_seat:
            if not has_seat and pending_write.claim():
                raise self._given_up(admission.first_s)
            if pending_write.is_settled(admission.rest_s):
                return pending_write.result()
            if pending_write.claim():
                raise self._given_up(limit_s)
        raise OutcomeUnknown(
            f"No outcome of {type(pending_write.command).__name__} within "
            f"{limit_s:g} s; it may still be applied. Check before you "
            "retry."
        )

    def take(self, size: int) -> list[PendingWrite[Answer]]:
        """The next pending writes, at most ``size``; waits for one. Empty: closed.
        For one thread."""
        with self._lock:
            is_idle = self._is_idle = not (self._pending or self.is_closing)
        if is_idle:
            self._news.acquire()
        return self.more(size)

    def more(self, size: int) -> list[PendingWrite[Answer]]:
        """What is there to ``take`` without waiting."""
        found: list[PendingWrite[Answer]] = []
        while self._pending and len(found) < size:
            found.append(self._pending.popleft())
        return found

    def put_back(self, pending_writes: Sequence[PendingWrite[Answer]]) -> None:
        """Put these in front of the others again."""
        with self._lock:
            self._pending.extendleft(reversed(pending_writes))

    def close(self) -> None:
        """Refuse what comes from now on."""
        with self._lock:
            self.is_closing = True
            self._wake()

    def enter(self, *pending_writes: PendingWrite[A]) -> None:
        """Enqueue them all, so that one batch can take them. Raises Busy, StoreFailed
        (closed), and enqueues none then."""
        with self._lock:
            if self.is_closing:
                raise StoreFailed("This engine is closed; connect again.")
            room = self._options.queue_length - len(self._pending)
            if len(pending_writes) > room:
                self.turned_away += 1
                raise Busy(
                    f"{len(self._pending)} commands are already waiting, which is "
                    "the limit (queue_length). Try again shortly."
                )
            self._pending.extend(pending_writes)
            self._wake()

    def _wake(self) -> None:
        """Resume the committer, if it waits; under ``_lock``."""
        if self._is_idle:
            self._is_idle = False
            self._news.release()

    def _given_up(self, waited_s: float) -> Busy:
        with self._lock:
            self.turned_away += 1
        return Busy(
            f"The database has not accepted this write for {waited_s:g} s; it was "
            "not applied and will not be. Try again later."
        )
