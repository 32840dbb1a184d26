"""What it costs a decision to be timed by stages, and that it costs others nothing."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import pytest

from gantt.bench.bench_fleets import fleet_of
from gantt.bench.paths import acts, opened
from gantt.engine.gantt import Gantt
from gantt.engine.observer import NoObserver, Observer, StageTime
from gantt.model.selection import Decision

SCHEDULING = "gantt.engine.scheduling_cycle"
TIMING = "gantt.engine.scheduling.stage_times"
PATH = "select, in memory"
WARM_UP = 6


class Timed(NoObserver):
    """Asks for stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def times_stages(self) -> bool:
        return True

    def decided(self, decision: Decision, stages: Sequence[StageTime] = ()) -> None:
        self.stages += [one.stage for one in stages]


@pytest.fixture(scope="module")
def books() -> Iterator[tuple[Gantt, Any]]:
    """Books on which the shape of the request is kept, and the request."""
    fleet = fleet_of("flat", 300, is_mixed=False)
    with opened("memory://", fleet, lambda *_: None) as found:
        act = acts(found, fleet)[PATH]
        for number in range(WARM_UP):
            act(number)
        yield found, act


def called(books: tuple[Gantt, Any], observer: Observer, number: int) -> Counter[str]:
    """Calls of one decision in its own thread by module, and how often each
    module reads the clock."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals["__name__"]
        if event == "call":
            found[module] += 1
        elif event == "c_call" and argument is time.monotonic:
            found[f"clock of {module}"] += 1

    engine, act = books
    engine.observe(observer)
    sys.setprofile(note)
    try:
        act(number)
    finally:
        sys.setprofile(None)
    return found


def test_a_decision_that_is_not_timed_does_nothing_for_it(
    books: tuple[Gantt, Any],
) -> None:
    found = called(books, NoObserver(), 100)
    assert found["gantt.scheduler.cycle"] > 0
    assert found[TIMING] == 0
    assert found["gantt.engine.observer"] == 1  # it is told of the decision
    # When it began, was begun to be decided, was decided, and was claimed.
    assert found[f"clock of {SCHEDULING}"] == 4


def test_a_timed_decision_reads_the_clock_once_for_each_change_of_stage(
    books: tuple[Gantt, Any],
) -> None:
    timed = Timed()
    found = called(books, timed, 200)
    assert timed.stages == ["filter", "score", "pick"]
    # A hit: filter, between, score, between, pick, and the end.
    assert found[f"clock of {SCHEDULING}"] == 4
    assert found[f"clock of {TIMING}"] == 6
