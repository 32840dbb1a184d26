"""How long callers wait for a database that stands still, and how many of them.

Apart from what they wait for, which may be the committer, an answer, or a commit: each
of them occupies a thread, and the threads of a process are one crowd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gantt.engine.options import EngineOptions
from gantt.engine.threads import Threads


class AdmissionControl:
    """``wait_s`` for everybody, then ``patient`` callers, up to
    ``answer_timeout_s``. ``turned_away``: readers whose it was over."""

    def __init__(self, options: EngineOptions, threads: Threads) -> None:
        self.limit_s = options.answer_timeout_s
        self.first_s = min(options.wait_s, self.limit_s)
        self.rest_s = self.limit_s - self.first_s
        self._seats = options.patient
        self._changed = threads.lock()
        self._staying = 0
        self.turned_away = 0

    @contextmanager
    def staying(self) -> Iterator[bool]:
        """Whether there is a seat for somebody whose admission is over; it is taken
        within."""
        with self._changed:
            self._staying += 1
            has_seat = self._staying <= self._seats
        try:
            yield has_seat
        finally:
            with self._changed:
                self._staying -= 1

    def lasts(self, wait: Callable[[float], bool], borne_s: float = 0.0) -> bool:
        """Whether ``wait``, which is told how many seconds it may take, came true in
        time. ``borne_s``: for how long others have waited for the same already."""
        if wait(max(0.0, self.first_s - borne_s)):
            return True
        with self.staying() as has_seat:
            if has_seat and wait(self.rest_s):
                return True
        with self._changed:
            self.turned_away += 1
        return False
