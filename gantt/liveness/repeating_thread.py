"""A thread that does the same again and again: a heartbeat, or a look at the group."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

LOG = logging.getLogger(__name__)
_JOIN_S: Final = 2.0


class RepeatingThread:
    """Calls ``act`` every ``pause_s`` seconds in a thread, until it is closed."""

    def __init__(self, act: Callable[[], None], pause_s: float, name: str) -> None:
        self._act = act
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Act at once, and then again and again."""
        self._thread.start()

    def close(self) -> bool:
        """Whether it has ended: a service that does not answer must not hold up the
        end of a process."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self._act()
            except Exception:  # a bug must not end the thread
                LOG.exception("%s failed", self._thread.name)
            took = time.monotonic() - began
            if self._stop.wait(max(0.0, self._pause_s - took)):
                return
