"""What Nova has told by casts, while databases are read.

A cast is newer than whatever a reading saw that began before it: such a reading does
not pass on what it saw of the same thing, and the next one states it anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

# More names than a cloud has hosts: a cast may name any.
MOST: Final = 100_000


class Notes:
    """Names with the time of the last cast about each; ``clock``: monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[str, float] = {}

    def note(self, name: str) -> None:
        """Something was told of ``name`` just now."""
        with self._lock:
            # Moved to the end: the names are in the order of their times.
            self._at.pop(name, None)
            self._at[name] = self._clock()
            if len(self._at) > MOST:
                del self._at[next(iter(self._at))]

    def since(self, began: float) -> frozenset[str]:
        """What was told of since ``began``."""
        with self._lock:
            return frozenset(name for name, at in self._at.items() if at >= began)

    def names(self) -> frozenset[str]:
        """What was told of and not stated anew."""
        with self._lock:
            return frozenset(self._at)

    def drop(self, names: frozenset[str], began: float) -> None:
        """A reading that began then has stated these."""
        with self._lock:
            for name in names:
                if self._at.get(name, began) < began:
                    del self._at[name]
