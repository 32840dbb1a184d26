"""Admission control: how long callers wait for a stalled database, and how many.

Separate from what they wait for (the committer, an answer, a commit), because each of
them occupies a thread, and all share the threads of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gantt.engine.options import EngineOptions
from gantt.engine.threads import Threads


class AdmissionControl:
    """All callers wait for ``wait_s``; then ``patient`` of them, in all up to
    ``answer_timeout_s``. ``turned_away``: readers that were refused."""

    def __init__(self, options: EngineOptions, threads: Threads) -> None:
        self.limit_s = options.answer_timeout_s
        self.first_s = min(options.wait_s, self.limit_s)
        self.rest_s = self.limit_s - self.first_s
        self._seats = options.patient
        self._changed = threads.lock()
        self._seated = 0
        self.turned_away = 0

    @contextmanager
    def seat(self) -> Iterator[bool]:
        """Whether a caller that waited for ``wait_s`` may wait on; its seat is taken
        meanwhile."""
        with self._changed:
            self._seated += 1
            has_seat = self._seated <= self._seats
        try:
            yield has_seat
        finally:
            with self._changed:
                self._seated -= 1

    def await_turn(self, wait: Callable[[float], bool], waited_s: float = 0.0) -> bool:
        """Whether ``wait(timeout_s)`` returned True in time. ``waited_s``: for how long
        others have waited for the same already."""
        if wait(max(0.0, self.first_s - waited_s)):
            return True
        with self.seat() as has_seat:
            if has_seat and wait(self.rest_s):
                return True
        with self._changed:
            self.turned_away += 1
        return False
