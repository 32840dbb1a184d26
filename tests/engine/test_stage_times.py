"""When the stages of a decision began and ended."""

from __future__ import annotations

from gantt.engine.clock import SystemClock
from gantt.engine.observer import StageTime
from gantt.engine.scheduling.stage_times import StageTimes
from gantt.scheduler.stages import FILTER, OTHER, PICK, SCORE


class Hand(SystemClock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 10.0
        self.monotonic = lambda: self.at


def test_a_stage_lasts_until_the_next_or_none() -> None:
    clock = Hand()
    times = StageTimes(clock)
    for at, stage in ((11.0, FILTER), (13.0, SCORE), (14.0, OTHER), (20.0, PICK)):
        clock.at = at
        times(stage)
    clock.at = 21.5
    times(PICK)  # still
    times(OTHER)
    assert times.since(10.0) == (
        StageTime(FILTER, 1.0, 3.0),
        StageTime(SCORE, 3.0, 4.0),
        StageTime(PICK, 10.0, 11.5),
    )
    assert times.since(20.0) == (StageTime(PICK, 0.0, 1.5),)
    assert times.since(22.0) == ()


def test_of_many_tries_the_latest_stages_are_kept() -> None:
    times = StageTimes(clock := Hand())
    for second in range(1000):
        clock.at = float(second)
        times(FILTER if second % 2 else PICK)
    found = times.since(0.0)
    assert len(found) == 64
    assert found[-1] == StageTime(PICK, 998.0, 999.0)
