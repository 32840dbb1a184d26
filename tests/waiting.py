"""Waits for what another thread or process is about to do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(
    is_so: Callable[[], object],
    limit_s: float = 60.0,
    tell: Callable[[], object] = lambda: "it has not come",
) -> None:
    """Return when ``is_so()``. Raises AssertionError with what ``tell`` says after
    ``limit_s``."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, tell()
        time.sleep(0.005)
