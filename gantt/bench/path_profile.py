"""Where the time of each path goes: the stages of ``stages``, timed from outside.

While it lasts, the functions of the table are replaced by ones that read the clock
before and after them. A request is timed without that as well; what the stages took is
scaled to it. While the caller waits for the committer, the committer's stages count.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from statistics import median
from typing import Any, Final

from msgspec import Struct

from gantt.bench.path_stages import HAND_OVER, ORDER, OTHER, SEAMS, WAIT

WARM_UP: Final = 50
Act = Callable[[int], object]
"""One request; takes its number."""


class PathProfile(Struct, frozen=True):
    """One path. ``median_s``: of a request by the clock; ``work_s``: processor time of
    one, all threads; ``stages``: name -> seconds of a request; they add up to
    ``median_s``."""

    path: str
    requests: int
    median_s: float
    work_s: float
    stages: dict[str, float]

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """The stages that take longest, and how long."""
        by_time = sorted(self.stages.items(), key=lambda one: -one[1])
        return by_time[:count]


class _Thread(threading.local):
    """Seconds within wrapped functions that the ones being called now have called."""

    def __init__(self) -> None:
        self.inner: list[float] = []


class Timer:
    """Adds up the own time of wrapped functions: that of the thread which made it in
    ``here``, that of others, which work for it, in ``there``."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.here: dict[str, float] = defaultdict(float)
        self.there: dict[str, float] = defaultdict(float)
        self._clock = clock
        self._caller = threading.get_ident()
        self._thread = _Thread()

    def wrapped(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """``function``, with its time added to ``stage``."""
        clock, thread, caller = self._clock, self._thread, self._caller

        @wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            inner = thread.inner
            inner.append(0.0)
            began = clock()
            try:
                return function(*args, **kwargs)
            finally:
                took = clock() - began
                own = took - inner.pop()
                if inner:
                    inner[-1] += took
                is_here = threading.get_ident() == caller
                (self.here if is_here else self.there)[stage] += own

        return call

    @contextmanager
    def installed(self) -> Iterator[None]:
        """All functions of ``SEAMS`` wrapped."""
        with ExitStack() as stack:
            for module, name, stage in SEAMS:
                place, attribute = place_of(module, name)
                real = place.__dict__[attribute]
                setattr(place, attribute, self.wrapped(real, stage))
                stack.callback(setattr, place, attribute, real)
            yield

    def stages(self, total_s: float) -> dict[str, float]:
        """``total_s``, by the clock, by stages; in their order."""
        found = defaultdict(float, self.here)
        waited = found.pop(WAIT, 0.0)
        for name, took in self.there.items():
            found[name] += took
        found[HAND_OVER] += waited - sum(self.there.values())
        found[OTHER] = total_s - sum(found.values())
        return {name: found[name] for name in ORDER if found[name] > 0}


def place_of(module: str, name: str) -> tuple[Any, str]:
    """The module or class that has the function, and its name there."""
    place: Any = importlib.import_module(module)
    *classes, attribute = name.split(".")
    for one in classes:
        place = getattr(place, one)
    return place, attribute


def profile(path: str, act: Act, requests: int) -> PathProfile:
    """Do ``act`` so many times as it is, and as often with its stages timed."""
    for number in range(WARM_UP):
        act(number)
    each = []
    worked = time.process_time()
    for number in range(WARM_UP, WARM_UP + requests):
        began = time.perf_counter()
        act(number)
        each.append(time.perf_counter() - began)
    work_s = (time.process_time() - worked) / requests
    timer = Timer()
    with timer.installed():
        began = time.perf_counter()
        for number in range(WARM_UP + requests, WARM_UP + 2 * requests):
            act(number)
        took_s = time.perf_counter() - began
    middle = median(each)
    stages = scaled(timer.stages(took_s), middle)
    return PathProfile(path, requests, middle, work_s, stages)


def scaled(stages: dict[str, float], total_s: float) -> dict[str, float]:
    """The stages with the shares that they have, as parts of ``total_s``."""
    measured = sum(stages.values())
    return {name: one * total_s / measured for name, one in stages.items()}
