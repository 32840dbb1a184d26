"""The threads of one worker: which of them answers which request.

No kind of request takes the threads of another: quick ones, searches, counts of the
whole fleet, lists, and health and metrics, whose answer is shared by all requests that
ask at the same time. Queues are bounded, which those of the executors in the standard
library are not.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from time import monotonic

from msgspec import Struct

from gantt.api.access.auth import CONFIRMED
from gantt.api.access.confirmed_tokens import ConfirmedTokens
from gantt.api.call import Environ
from gantt.api.hosting.rsgi import HttpAnswer
from gantt.api.hosting.unconfirmed_tokens import Seat, Unconfirmed, address_of
from gantt.api.hosting.uploads import Bodies, BodyLimits
from gantt.api.middleware import MOUNT
from gantt.api.routes import work_of
from gantt.conf import Settings
from gantt.model.operation import Work

LOG = logging.getLogger(__name__)

Job = Callable[[], None]

# So many work at once from the start. One thread at a time has the interpreter; more
# only take it from each other, unless they wait for something else.
_EAGER = 4


class PoolLimits(Struct, frozen=True):
    """``threads`` work at once; ``waiting`` jobs may wait for one of them."""

    threads: int
    waiting: int


class JobPool:
    """Threads that carry out jobs, which should not raise.

    More than a few are only woken when jobs have waited for a moment (``catch_up``),
    because each would take the interpreter from the others.
    """

    def __init__(self, name: str, limits: PoolLimits) -> None:
        self.limits = limits
        self._name = name
        self._lock = threading.Lock()
        self._started = 0
        self._idle: list[SimpleQueue[Job]] = []
        self._jobs: deque[Job] = deque()

    @property
    def waiting(self) -> int:
        """Jobs that wait."""
        return len(self._jobs)

    def take(self, job: Job) -> bool:
        """Whether ``job`` was accepted. Never waits."""
        with self._lock:
            awake = self._started - len(self._idle)
            if awake < _EAGER and awake < self.limits.threads:
                self._give(job)
                return True
            is_over = awake >= self.limits.threads
            if is_over and len(self._jobs) >= self.limits.waiting:
                return False
            self._jobs.append(job)
            return True

    def catch_up(self) -> None:
        """Wake more threads for the jobs that wait."""
        with self._lock:
            idle = self.limits.threads - self._started + len(self._idle)
            for _ in range(min(idle, len(self._jobs))):
                self._give(self._jobs.popleft())

    def _give(self, job: Job) -> None:
        """Hand ``job`` to an idle thread or a new one; under the lock."""
        if self._idle:
            self._idle.pop().put(job)
            return
        self._started += 1
        name = f"{self._name}-{self._started}"
        # A daemon: a request that waits for the database must not keep the process up.
        threading.Thread(target=self._work, args=(job,), name=name, daemon=True).start()

    def _work(self, first: Job) -> None:
        box: SimpleQueue[Job] = SimpleQueue()
        job = first
        while True:
            try:
                job()
            except BaseException:  # the pool must not lose a thread
                LOG.exception("%s: a job failed", self._name)
            with self._lock:
                if self._jobs:
                    job = self._jobs.popleft()
                    continue
                self._idle.append(box)
            del job  # it would keep its request in memory until the next one
            job = box.get()


PAUSE_S = 0.1

Make = Callable[[], HttpAnswer]


class SharedAnswer:
    """One answer for all requests that ask at the same time.

    An answer is never older than its question, and is made at most once in ``PAUSE_S``:
    requests that come while one is made share the next. However many ask, they cost one
    thread a small part of its time, and none is refused. Called in the event loop; the
    answers are made in a thread of its own.
    """

    def __init__(self, name: str, clock: Callable[[], float] = monotonic) -> None:
        self._name = name
        self._clock = clock
        self._pool = JobPool(name, PoolLimits(threads=1, waiting=1))
        self._asked: list[asyncio.Future[HttpAnswer]] = []
        self._is_idle = True
        self._next_at = 0.0

    async def answer(self, make: Make) -> HttpAnswer:
        """The answer of ``make``, or of the ``make`` of another request."""
        answered: asyncio.Future[HttpAnswer] = (
            asyncio.get_running_loop().create_future()
        )
        self._asked.append(answered)
        if self._is_idle:
            self._is_idle = False
            self._schedule(make)
        return await answered

    def _schedule(self, make: Make) -> None:
        wait_s = max(0.0, self._next_at - self._clock())
        asyncio.get_running_loop().call_later(wait_s, self._begin, make)

    def _begin(self, make: Make) -> None:
        self._next_at = self._clock() + PAUSE_S
        asked, self._asked = self._asked, []
        loop = asyncio.get_running_loop()
        self._pool.take(partial(self._make, loop, make, asked))

    def _make(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Make,
        asked: list[asyncio.Future[HttpAnswer]],
    ) -> None:
        """In the thread of the pool."""
        try:
            answer = make()
        except BaseException:
            LOG.exception("%s: no answer could be made", self._name)
            answer = HttpAnswer()
        loop.call_soon_threadsafe(self._give, make, asked, answer)

    def _give(
        self, make: Make, asked: list[asyncio.Future[HttpAnswer]], answer: HttpAnswer
    ) -> None:
        for answered in asked:
            if not answered.done():  # granian may have given it up
                answered.set_result(answer)
        self._is_idle = not self._asked
        if self._asked:
            self._schedule(make)


class Pools:
    """The pools of one worker, and its memory for bodies. ``tokens``: those that
    Keystone confirmed; None: it is not asked."""

    def __init__(
        self, settings: Settings, tokens: ConfirmedTokens | None = None
    ) -> None:
        options = settings.serve
        self._tokens = tokens
        self._is_behind_proxy = settings.proxy_headers
        waiting = options.waiting_requests
        self._unconfirmed = Unconfirmed(
            options.unconfirmed_threads, options.unconfirmed_per_address, waiting
        )
        threads: dict[Work, int] = {
            "quick": options.blocking_threads,
            "search": options.search_threads,
            "count": options.list_threads,
            "list": options.list_threads,
        }
        self._pools = {
            work: JobPool(f"gantt-{work}", PoolLimits(most, waiting))
            for work, most in threads.items()
        }
        health, metrics = SharedAnswer("gantt-health"), SharedAnswer("gantt-metrics")
        self._shared = {
            ("GET", "/readyz"): health,
            ("HEAD", "/readyz"): health,
            ("GET", "/healthcheck"): health,
            ("HEAD", "/healthcheck"): health,
            ("GET", "/metrics"): metrics,
        }
        most = settings.api.max_body_bytes
        self.bodies = Bodies(
            BodyLimits(
                most_bytes=most,
                timeout_s=options.body_timeout_s,
                all_bytes=max(options.bodies_bytes, most),
            )
        )

    def shared_for(self, method: str, path: str) -> SharedAnswer | None:
        """Where requests share an answer; None: each has its own."""
        return self._shared.get((method, path.removeprefix(MOUNT)))

    def pool_for(self, environ: Environ) -> JobPool | Seat:
        """The threads for any other request."""
        path = environ["PATH_INFO"].removeprefix(MOUNT)
        if self._is_unconfirmed(environ):
            return self._unconfirmed.at(address_of(environ, self._is_behind_proxy))
        return self._pools[
            work_of(environ["REQUEST_METHOD"], path, environ["QUERY_STRING"])
        ]

    def _is_unconfirmed(self, environ: Environ) -> bool:
        if self._tokens is None or CONFIRMED in environ:
            return False
        return not self._tokens.is_known(environ)

    def counts(self) -> dict[str, float]:
        """For metrics."""
        pools = self._pools.values()
        return {
            "requests_waiting": sum(pool.waiting for pool in pools),
            "requests_waiting_limit": sum(pool.limits.waiting for pool in pools),
            "unconfirmed_waiting": self._unconfirmed.waiting,
            "unconfirmed_waiting_limit": self._unconfirmed.most,
            "unconfirmed_threads_limit": self._unconfirmed.threads,
            "unconfirmed_per_address_limit": self._unconfirmed.per_address,
            "unconfirmed_refused": self._unconfirmed.refused,
            "body_bytes_limit": self.bodies.limits.most_bytes,
            "bodies_reading": self.bodies.reading,
            "bodies_reading_bytes": self.bodies.held,
            "bodies_reading_bytes_limit": self.bodies.limits.all_bytes,
        }
