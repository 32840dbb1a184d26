"""Where threads and locks enter the engine, and nowhere else, so that a simulation can
replace them: it then decides which thread runs, and one seed is one schedule.

Separate from the clock because many tests replace the time alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from msgspec import Struct


class _Held(Protocol):
    """For ``with``."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Lock(_Held, Protocol):
    """What the engine uses of ``threading.Lock``."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Whether the caller has it now; ``timeout`` in seconds, -1: none."""

    def release(self) -> None:
        """Any thread may release it."""


class Condition(_Held, Protocol):
    """What the engine uses of ``threading.Condition``, which has a lock of its own."""

    def wait_for(
        self, predicate: Callable[[], object], timeout: float | None = None
    ) -> object:
        """The last value of ``predicate``, which is asked under the lock."""

    def notify(self) -> None:
        """Wake one waiting thread."""

    def notify_all(self) -> None:
        """Wake all waiting threads."""


class ThreadEvent(Protocol):
    """What the engine uses of ``threading.Event``."""

    def set(self) -> None:
        """Wake all threads that wait, now and later."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set."""


class Thread(Protocol):
    """A thread that was started."""

    def join(self) -> None:
        """Wait until it has ended; from within it, return at once."""


class Threads(Protocol):
    """What the engine needs of them."""

    def lock(self) -> Lock:
        """A free lock."""

    def condition(self) -> Condition:
        """A new condition."""

    def event(self) -> ThreadEvent:
        """An event that is not set."""

    def start(self, run: Callable[[], None], name: str) -> Thread:
        """Run ``run`` in a thread that does not keep the process alive."""


class _SystemThread(threading.Thread):
    def join(self, timeout: float | None = None) -> None:
        if self is not threading.current_thread():
            super().join(timeout)


class SystemThreads:
    lock: Callable[[], Lock] = staticmethod(threading.Lock)
    condition: Callable[[], Condition] = staticmethod(threading.Condition)
    event: Callable[[], ThreadEvent] = staticmethod(threading.Event)

    def start(self, run: Callable[[], None], name: str) -> Thread:
        thread = _SystemThread(target=run, name=name, daemon=True)
        thread.start()
        return thread


class LeaderTask(Struct, frozen=True):
    """``run`` is called whenever the task is due; it returns how much was done."""

    name: str
    is_due: Callable[[], bool]
    run: Callable[[], int]
