"""How long something takes, and how often many callers do it in a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gantt.bench.workloads import CALLERS


def seconds(act: Callable[[], object]) -> float:
    """How long it takes, once."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def calls_per_s(act: Callable[[], object], times: int) -> float:
    """How often ``act`` is done in a second by all callers, ``times`` each."""

    def call(_: int) -> None:
        for _ in range(times):
            act()

    with ThreadPoolExecutor(CALLERS) as callers:
        took_s = seconds(lambda: list(callers.map(call, range(CALLERS))))
    return CALLERS * times / took_s
