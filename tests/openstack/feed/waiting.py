"""Waits for what another thread is about to do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], bool], limit_s: float = 20.0) -> None:
    """Return when ``is_so()``. Raises AssertionError after ``limit_s``."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, "it has not come"
        time.sleep(0.02)
