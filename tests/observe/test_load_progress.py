"""What the log says while tables are loaded."""

from __future__ import annotations

import logging

import pytest

from gantt.observe.load_progress import EVERY_S, LoadingLog


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_long_load_is_told_with_its_rate_and_the_time_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    with caplog.at_level(logging.INFO):
        progress = LoadingLog(clock)
        clock.now += 60  # until the first row
        for done in (0, 1_000, 2_000, 4_000):
            progress(done, 12_000)
            clock.now += EVERY_S / 2
    assert [one.getMessage() for one in caplog.records] == [
        "Loading the tables: 2000 of 12000 rows, 400/s, 25 s left"
    ]


def test_a_load_that_begins_again_is_counted_afresh(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    progress = LoadingLog(clock)
    progress(0, 10)
    progress(10, 10)
    clock.now += 3_600
    with caplog.at_level(logging.INFO):
        progress(0, 10)
        progress(10, 10)
    assert not caplog.records
