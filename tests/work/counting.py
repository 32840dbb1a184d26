"""Counts of work: the same on a busy machine as on an idle one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(action: Callable[..., object], *args: object) -> int:
    """Calls of functions, in Python and in C, that ``action`` makes: the least of
    some runs, because a collection of garbage may fall into one of them."""
    return min(_once(action, *args) for _ in range(4))


def _once(action: Callable[..., object], *args: object) -> int:
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action(*args)
    finally:
        sys.setprofile(None)
    return count
