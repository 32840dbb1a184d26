"""Where threads and locks enter the engine, and nowhere else, so that a simulation can
own them: it then decides who runs when, and one seed is one schedule.

Apart from the clock because a test often owns the time and leaves the threads alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Protocol


class Lock(Protocol):
    """As ``threading.Lock``."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Whether it is the caller's now; ``timeout`` in seconds, -1: for ever."""

    def release(self) -> None:
        """Anybody may let go of it."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Condition(Protocol):
    """As ``threading.Condition`` with a lock of its own."""

    def wait_for(
        self, predicate: Callable[[], object], timeout: float | None = None
    ) -> object:
        """The last value of ``predicate``, which is asked under the lock."""

    def notify(self) -> None:
        """Wake one who waits."""

    def notify_all(self) -> None:
        """Wake all who wait."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Event(Protocol):
    """As ``threading.Event``, as far as it is needed."""

    def set(self) -> None:
        """Wake all who wait, now and later."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set."""


class Thread(Protocol):
    """A thread that was started."""

    def join(self) -> None:
        """Wait until it has ended; from within it, return at once."""


class Threads(Protocol):
    """What the engine needs of them."""

    def lock(self) -> Lock:
        """A lock that nobody has."""

    def condition(self) -> Condition:
        """A condition nobody waits for."""

    def event(self) -> Event:
        """An event that is not set."""

    def start(self, run: Callable[[], None], name: str) -> Thread:
        """Run ``run`` in a thread that does not keep the process alive."""


class _SystemThread(threading.Thread):
    def join(self, timeout: float | None = None) -> None:
        if self is not threading.current_thread():
            super().join(timeout)


class SystemThreads:
    """The interpreter's own."""

    lock: Callable[[], Lock] = staticmethod(threading.Lock)
    condition: Callable[[], Condition] = staticmethod(threading.Condition)
    event: Callable[[], Event] = staticmethod(threading.Event)

    def start(self, run: Callable[[], None], name: str) -> Thread:
        thread = _SystemThread(target=run, name=name, daemon=True)
        thread.start()
        return thread
