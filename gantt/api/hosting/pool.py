"""Threads that answer requests, as many as are allowed, and requests that wait for one.

Few threads do what few can do: more are only woken when what waits is not taken up
within a moment, because each of them would take the interpreter from the others. Apart
from the executors of the standard library, whose queues have no end.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from msgspec import Struct

LOG = logging.getLogger(__name__)

Job = Callable[[], None]

# So many work at once without being overdue. One at a time has the interpreter; more
# only take it from each other, unless they wait for something else.
_EAGER = 4


class PoolLimits(Struct, frozen=True):
    """``threads`` work at once; so many jobs may wait for one of them."""

    threads: int
    waiting: int


class Pool:
    """Carries out jobs, which should not raise."""

    def __init__(self, name: str, limits: PoolLimits) -> None:
        self.limits = limits
        self._name = name
        self._lock = threading.Lock()
        self._started = 0
        self._resting: list[SimpleQueue[Job]] = []
        self._jobs: deque[Job] = deque()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._jobs)

    def take(self, job: Job) -> bool:
        """Whether there was room for it. Never waits."""
        with self._lock:
            awake = self._started - len(self._resting)
            if awake < _EAGER and awake < self.limits.threads:
                self._give(job)
                return True
            is_over = awake >= self.limits.threads
            if is_over and len(self._jobs) >= self.limits.waiting:
                return False
            self._jobs.append(job)
            return True

    def catch_up(self) -> None:
        """Let more threads work: those that do have not come to what waits."""
        with self._lock:
            idle = self.limits.threads - self._started + len(self._resting)
            for _ in range(min(idle, len(self._jobs))):
                self._give(self._jobs.popleft())

    def _give(self, job: Job) -> None:
        """To a thread that rests, or a new one; under the lock."""
        if self._resting:
            self._resting.pop().put(job)
            return
        self._started += 1
        name = f"{self._name}-{self._started}"
        # A daemon: a request that waits for the database must not keep the process.
        threading.Thread(target=self._work, args=(job,), name=name, daemon=True).start()

    def _work(self, first: Job) -> None:
        box: SimpleQueue[Job] = SimpleQueue()
        job = first
        while True:
            try:
                job()
            except BaseException:  # else the pool would have a thread less
                LOG.exception("%s: a job failed", self._name)
            with self._lock:
                if self._jobs:
                    job = self._jobs.popleft()
                    continue
                self._resting.append(box)
            del job  # and what of its request would be kept until the next
            job = box.get()
