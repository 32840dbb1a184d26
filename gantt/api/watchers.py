"""Limits concurrent watchers, each of which occupies a thread of the server.

The application shares it with the server, which drains: streams must then end by
themselves, since nothing else can end them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

MOST = 16


def _never() -> bool:
    return False


class Watchers:
    """At most ``limit`` at once. ``is_draining``: whether streams must end."""

    def __init__(
        self, limit: int = MOST, is_draining: Callable[[], bool] = _never
    ) -> None:
        self.limit = limit
        self.is_draining = is_draining
        self._lock = threading.Lock()
        self.present = 0
        self.turned_away = 0
        # Streams that have reached their limit of bytes.
        self.cut = 0

    def enter(self) -> bool:
        """Whether there was room for one more, which must later ``leave``."""
        with self._lock:
            if self.present >= self.limit:
                self.turned_away += 1
                return False
            self.present += 1
            return True

    def cut_off(self) -> None:
        """Count a stream that ended at its limit of bytes."""
        with self._lock:
            self.cut += 1

    def leave(self) -> None:
        """Make room."""
        with self._lock:
            self.present -= 1

    def counts(self) -> dict[str, float]:
        """For metrics."""
        return {
            "watchers": self.present,
            "watchers_limit": self.limit,
            "watchers_turned_away": self.turned_away,
            "watch_streams_cut": self.cut,
        }
