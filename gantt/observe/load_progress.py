"""Tells in the log how far the tables are loaded, with the rate and the time left.

For services, whose loading an operator awaits and whose log is no terminal; a load that
takes less than ``EVERY_S`` says nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 5.0
LOG = logging.getLogger(__name__)


class LoadingLog:
    """Implements Progress."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._told = clock()

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if not done:
            self._began = self._told = now
        if now - self._told < EVERY_S:
            return
        self._told = now
        rate = done / (now - self._began)
        LOG.info(
            "Loading the tables: %d of %d rows, %d/s, %d s left",
            done,
            total,
            rate,
            (total - done) / rate,
        )
