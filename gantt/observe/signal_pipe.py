"""Signals of a parent process as numbers to read, for those that supervise workers.

A handler in Python may wait: of two signals at once, the kernel can give one to a
thread whose interruption wakes nothing. What Python writes to a pipe wakes its reader.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable


class SignalPipe:
    """Takes ``numbers`` in place of their handlers until it is closed; for the main
    thread. ``heard`` can be waited for like a file."""

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        self.heard, self._told = os.pipe()
        os.set_blocking(self._told, False)
        self._handlers = {one: signal.signal(one, lambda *_: None) for one in numbers}
        self._wakeup = signal.set_wakeup_fd(self._told)

    def read(self) -> int:
        """The next signal; waits for it."""
        return os.read(self.heard, 1)[0]

    def close(self) -> None:
        """Leaves signals as they were before."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self.heard)
        os.close(self._told)
