"""Threads that answer requests, as many as are allowed, and requests that wait for one.

Whoever came last to rest works first: few threads do what few can do, and their memory
is warm. Apart from the executors of the standard library, whose queues have no end.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from msgspec import Struct

Job = Callable[[], None]


class CrewLimits(Struct, frozen=True):
    """``threads`` work at once; so many jobs may wait for one of them."""

    threads: int
    waiting: int


class Crew:
    """Carries out jobs, which must not raise."""

    def __init__(self, name: str, limits: CrewLimits) -> None:
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
            if self._resting:
                self._resting.pop().put(job)
                return True
            if self._started >= self.limits.threads:
                if len(self._jobs) >= self.limits.waiting:
                    return False
                self._jobs.append(job)
                return True
            self._started += 1
            name = f"{self._name}-{self._started}"
        # A daemon: a request that waits for the database must not keep the process.
        threading.Thread(target=self._work, args=(job,), name=name, daemon=True).start()
        return True

    def _work(self, first: Job) -> None:
        box: SimpleQueue[Any] = SimpleQueue()
        job = first
        while True:
            job()
            with self._lock:
                if self._jobs:
                    job = self._jobs.popleft()
                    continue
                self._resting.append(box)
            del job  # and what of its request would be kept until the next
            job = box.get()
