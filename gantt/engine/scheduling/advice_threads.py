"""Runs advice in threads of its own, so that its caller is answered in time whatever it
waits for: a lock, another search, a plug-in.

A call that is late goes on in its thread, and its result is not used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from gantt.engine.threads import Threads

T = TypeVar("T")


class TooLate(Exception):
    """The call goes on, or has not begun: all threads are occupied."""


class Call(Generic[T]):
    """One call. ``is_late`` is set when its caller does not wait any more; ``settle``
    tells whether it may still have an effect."""

    def __init__(self, run: Callable[[Call[T]], T], threads: Threads) -> None:
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
    """At most ``most`` threads, started as they are needed."""

    def __init__(self, most: int, threads: Threads) -> None:
        self._most = most
        self._threads = threads
        self._changed = threads.condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._idle = self._started = 0
        self._is_closed = False

    def call(self, run: Callable[[Call[T]], T], timeout_s: float) -> T:
        """The result of ``run``. Raises TooLate when it takes longer than
        ``timeout_s``, or cannot begin, and what ``run`` raises."""
        call = Call(run, self._threads)
        context = copy_context()  # of the request, for the log
        with self._changed:
            if len(self._waiting) >= self._idle:
                if self._started >= self._most:
                    raise TooLate
                self._started += 1
                self._threads.start(self._work, "gantt-advice")
                self._idle += 1
            self._waiting.append(lambda: context.run(call.run))
            self._changed.notify()
        return call.wait(timeout_s)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                run = self._waiting.popleft()
                self._idle -= 1
            run()
            with self._changed:
                self._idle += 1

    def close(self) -> None:
        """End threads that wait."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def busy(self) -> int:
        """How many threads are occupied."""
        return self._started - self._idle + len(self._waiting)
