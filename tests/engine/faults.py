"""A store that fails where a test says so, and holds still where it says so."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from gantt.engine.clock import SystemClock
from gantt.engine.gantt import Gantt
from gantt.model.changes import Cursor, LogEntry
from gantt.store.interface import Precondition, Store, Transaction
from tests.waiting import until

Hook = Callable[..., None]
CALLER: Final = "caller"
"""How the names of threads of ``Callers`` begin."""


class FaultyStore:
    """Runs the next hook of a point each time the point is passed.

    Points: begin, tail, write (with the entries), commit (before it), committed (after
    it), has_batch, cursor, log (a reader's tail), load. ``passed`` counts them.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.hooks: dict[str, deque[Hook]] = defaultdict(deque)
        self.always: dict[str, Hook] = {}
        self.passed: Counter[str] = Counter()

    def fail(self, point: str, *errors: BaseException) -> None:
        """The next passes of ``point`` raise these."""
        for error in errors:
            self.hooks[point].append(raiser(error))

    def hold(self, point: str) -> Hold:
        """The next pass of ``point`` waits until the hold is let go."""
        hold = Hold()
        self.hooks[point].append(hold)
        return hold

    def pass_by(self, point: str, *args: Any) -> None:
        self.passed[point] += 1
        if self.hooks[point]:
            self.hooks[point].popleft()(*args)
        if point in self.always:
            self.always[point](*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def load(self) -> Any:
        self.pass_by("load")
        return self.inner.load()

    def cursor(self) -> Cursor:
        self.pass_by("cursor")
        return self.inner.cursor()

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        self.pass_by("log")
        return self.inner.tail(after)

    def begin(self) -> FaultyTransaction:
        self.pass_by("begin")
        return FaultyTransaction(self, self.inner.begin())

    def has_batch(self, end: Cursor) -> bool | None:
        self.pass_by("has_batch")
        return self.inner.has_batch(end)


class FaultyTransaction:
    def __init__(self, store: FaultyStore, inner: Transaction) -> None:
        self._store = store
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def tail(self, after: Cursor) -> list[LogEntry] | None:
        self._store.pass_by("tail")
        return self._inner.tail(after)

    def write(
        self, entries: Sequence[LogEntry], preconditions: Sequence[Precondition] = ()
    ) -> None:
        self._store.pass_by("write", entries)
        self._inner.write(entries, preconditions)

    def commit(self) -> None:
        try:
            self._store.pass_by("commit")
        except BaseException:
            self._inner.rollback()
            raise
        self._inner.commit()
        self._store.pass_by("committed")


class Hold:
    """A place where the engine's thread waits for the test."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._released = threading.Event()
        self.error: BaseException | None = None

    def __call__(self, *args: object) -> None:
        self._reached.set()
        assert self._released.wait(20), "the hold was not released"
        if self.error is not None:
            raise self.error

    def wait(self) -> None:
        """Until the engine is there."""
        assert self._reached.wait(20), "the engine never came here"

    def release(self, error: BaseException | None = None) -> None:
        """Let the engine go on, or fail."""
        self.error = error
        self._released.set()


NOW: Final = 1_700_000_000_000_000
"""A moment, in microseconds since 1970."""


class ScriptedClock(SystemClock):
    """The wall clock says what the test says; pauses are counted, not waited."""

    def __init__(self, *times: int) -> None:
        self.times = deque(times)
        self.last = 0
        self.pauses: list[float] = []
        self.monotonics: deque[float] = deque()

    def now(self) -> int:
        if self.times:
            self.last = self.times.popleft()
        return self.last

    def monotonic(self) -> float:
        return self.monotonics.popleft() if self.monotonics else super().monotonic()

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


class Callers:
    """Threads that ask an engine for something at the same time."""

    def __init__(self, books: Gantt, size: int = 64) -> None:
        self._books = books
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=CALLER)

    def submit(self, *commands: Any) -> list[Future[Any]]:
        """Each command by a caller of its own, queued in this order."""
        futures = []
        for command in commands:
            before = self._books.counts()["queue_length"]
            futures.append(self._pool.submit(self._books.submit, command))
            until(lambda b=before: self._books.counts()["queue_length"] > b)  # type: ignore[misc]
        return futures

    def run(self, action: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._pool.submit(action, *args)

    def close(self) -> None:
        self._pool.shutdown(wait=False)


def raiser(error: BaseException) -> Hook:
    def strike(*args: object) -> None:
        raise error

    return strike
