"""Stops asking a service that fails, and tries it again now and then.

Without it each request would wait its full time for a service that is away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Breaker:
    """Closed: everything may ask. Open: nothing may, for a time. Then one probe may,
    and its outcome closes or opens it again. Safe for threads.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None
        self._is_probing = False

    def allows(self) -> bool:
        """Whether to ask now; if so, one of the other three must follow."""
        with self._lock:
            if self._open_until is None:
                return True
            if self._is_probing or self._clock() < self._open_until:
                return False
            self._is_probing = True
            return True

    def succeeded(self) -> bool:
        """Note an answer; True if this closed the breaker."""
        with self._lock:
            was_open = self._open_until is not None
            self._failures = 0
            self._open_until = None
            self._is_probing = False
            return was_open

    def failed(self, limit: int, seconds: float) -> bool:
        """Note a failure; ``limit`` of them in a row open it for ``seconds``. True if
        this one opened it, and not for another time only.
        """
        with self._lock:
            was_open = self._open_until is not None
            self._failures += 1
            self._is_probing = False
            if self._failures >= limit or was_open:
                self._open_until = self._clock() + seconds
            return self._open_until is not None and not was_open

    def released(self) -> None:
        """Note a call that tells nothing: if it was a probe, another one may follow."""
        with self._lock:
            self._is_probing = False
