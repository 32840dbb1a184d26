"""Runs advice in threads of its own, so that its caller is answered in time whatever it
waits for: a lock, another search, a plug-in.

While all threads are occupied, calls wait in turn. A call that is late goes on in its
thread, and its result is not used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

from gantt.engine.threads import Threads
from gantt.errors import Busy

T = TypeVar("T")


class TooLate(Exception):
    """The call goes on in its thread, or never begins."""


class AdviceCall(Generic[T]):
    """One call. ``is_late`` is set when its caller does not wait any more; ``settle``
    tells whether it may still have an effect."""

    def __init__(self, run: Callable[[AdviceCall[T]], T], threads: Threads) -> None:
        self._run = run
        self._done = threads.event()
        self._lock = threads.lock()
        self._is_settled = self.is_late = False
        self._error: BaseException | None = None
        self._found: list[T] = []

    def run(self) -> None:
        """In its thread."""
        try:
            if not self.is_late:
                self._found.append(self._run(self))
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def settle(self) -> bool:
        """Whether the caller still waits; from now on it waits until the end."""
        with self._lock:
            self._is_settled = not self.is_late
            return self._is_settled

    def wait(self, timeout_s: float) -> T:
        """The result. Raises TooLate, and what the call raised."""
        if not self._done.wait(timeout_s):
            with self._lock:
                self.is_late = not self._is_settled
            if self.is_late:
                raise TooLate
            self._done.wait()
        if self._error is not None:
            raise self._error
        return self._found[0]


class AdviceThreads:
    """At most ``most`` threads, started as they are needed; at most ``most_waiting``
    calls wait for one of them."""

    def __init__(self, most: int, most_waiting: int, threads: Threads) -> None:
        self._most, self._most_waiting = most, most_waiting
        self._threads = threads
        self._changed = threads.condition()
        self._queue: deque[Callable[[], None]] = deque()
        self._running = self._started = 0
        self._is_closed = False

    def call(self, run: Callable[[AdviceCall[T]], T], timeout_s: float) -> T:
        """The result of ``run``. Raises TooLate when it does not come within
        ``timeout_s``, Busy when too many calls wait, and what ``run`` raises."""
        call = AdviceCall(run, self._threads)
        context = copy_context()  # of the request, for the log

        def run_it() -> None:
            context.run(call.run)

        with self._changed:
            if len(self._queue) >= self._started - self._running:
                self._make_room()
            self._queue.append(run_it)
            self._changed.notify()
        try:
            return call.wait(timeout_s)
        except TooLate:
            with self._changed, suppress(ValueError):  # it has begun
                self._queue.remove(run_it)
            raise

    def _make_room(self) -> None:
        """For one more call than there are free threads."""
        if self._started < self._most:
            self._threads.start(self._work, "gantt-advice")
            self._started += 1
        elif self.waiting() >= self._most_waiting:
            raise Busy(
                f"{self._most_waiting} requests for advice wait for one of "
                f"{self._most} threads. Raise advice_waiting of [gantt], or ask less."
            )

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
                if not self._queue:
                    return
                run = self._queue.popleft()
                self._running += 1
            run()
            with self._changed:
                self._running -= 1

    def close(self) -> None:
        """End threads that wait."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def busy(self) -> int:
        """How many threads are occupied."""
        return min(self._started, self._running + len(self._queue))

    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return max(0, self._running + len(self._queue) - self._started)
