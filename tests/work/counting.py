"""Counts of work: the same on a busy machine as on an idle one."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

COMMITTER: Final = "gantt-committer"


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


class CallCounter:
    """Calls of Python functions in the threads that are named, while it is entered;
    ``by_module``: by the name of the module that is called."""

    def __init__(self) -> None:
        self.calls = 0
        self.moves = 0
        self.by_module: Counter[str] = Counter()
        self._is_on = False
        self._threads: set[int | None] = set()

    def watch(self) -> None:
        """Count in this thread and in a committer's."""
        named = [one for one in threading.enumerate() if one.name == COMMITTER]
        self._threads = {threading.get_ident(), *(one.ident for one in named)}

    def __enter__(self) -> None:
        self.calls = self.moves = 0
        self.by_module.clear()
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        self._is_on = False

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self._is_on or event != "call" or frame.f_globals is globals():
            return
        if threading.get_ident() not in self._threads:
            return
        self.calls += 1
        caller, name = frame.f_back, frame.f_globals.get("__name__")
        self.by_module[str(name)] += 1
        self.moves += caller is None or caller.f_globals.get("__name__") != name
