"""What this machine takes to wake up one thread and then another: the least that the
hand-over of a write to the committer's thread can take.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Final

from gantt.bench.path_profile import PathProfile
from gantt.bench.path_stages import HAND_OVER

BARE: Final = "two bare threads"
WORK_S: Final = 0.0003
"""Each works so long in turn, about as long as a caller and the committer do: what has
slept for longer takes longer to wake up."""


class _Pair:
    """A thread that works when it is told to, and tells when it has."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked, self._done = threading.Lock(), threading.Lock()
        self._asked.acquire()
        self._done.acquire()
        self._there_s = 0.0
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hand_over(self) -> float:
        """Seconds until it has worked and this thread knows, less its work."""
        clock = self._clock
        began = clock()
        self._asked.release()
        self._done.acquire()
        return clock() - began - self._there_s

    def end(self) -> None:
        """Stop the thread."""
        self._is_over = True
        if self._asked.locked():  # else it was told, and only has yet to run
            self._asked.release()
        self._thread.join()

    def _run(self) -> None:
        clock = self._clock
        while self._asked.acquire() and not self._is_over:
            began = clock()
            _work(clock, WORK_S)
            self._there_s = clock() - began
            self._done.release()


def bare_threads(
    requests: int, clock: Callable[[], float] = time.perf_counter
) -> PathProfile:
    """Hand over so many times, with work in between. The time of the path is that of
    the hand-over alone, and so is its processor time, nearly."""
    pair, each = _Pair(clock), list[float]()
    worked = time.process_time()
    try:
        for _ in range(requests):
            _work(clock, WORK_S)
            each.append(pair.hand_over())
    finally:
        pair.end()
    work_s = (time.process_time() - worked) / requests - 2 * WORK_S
    middle = median(each)
    return PathProfile(BARE, requests, middle, max(0.0, work_s), {HAND_OVER: middle})


def _work(clock: Callable[[], float], wanted_s: float) -> None:
    until = clock() + wanted_s
    while clock() < until:
        pass
