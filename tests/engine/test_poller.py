"""Columns keep up with other processes without requests."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from gantt.engine.background.background import Poller
from gantt.engine.gantt import Gantt
from gantt.errors import StoreFailed
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create
from tests.waiting import until


def until_at(books: Gantt, revision: int) -> None:
    until(lambda: books.revision >= revision)


def test_commits_of_others_are_applied_in_the_background(
    url: str, connect: Connect
) -> None:
    behind = connect(opened(url), poll_ms=5)
    books = connect(opened(url))
    for number in range(1, 4):
        books.submit(create(number))
        until_at(behind, number)
    assert behind.counts()["reloads"] == 0


def test_no_polling_unless_configured(shared: FaultyStore, connect: Connect) -> None:
    books = connect(shared)
    before = shared.passed["cursor"]
    time.sleep(0.1)
    assert shared.passed["cursor"] == before
    books.close()


def test_a_database_that_is_away_is_logged_once_and_tried_again(
    shared: FaultyStore,
    url: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("gantt.engine.background.background._PAUSE_S", 0.01)
    behind = connect(shared, poll_ms=5)
    shared.always["cursor"] = _away
    passed = shared.passed["cursor"]
    while shared.passed["cursor"] < passed + 4:
        time.sleep(0.002)
    shared.always.clear()
    connect(opened(url)).submit(create(1))
    until_at(behind, 1)
    assert caplog.text.count("the database is away") == 1
    assert caplog.text.count("the database is back after") == 1


def test_poller_backs_off_when_idle(
    shared: FaultyStore, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.engine.background.background._QUIET", 2)
    monkeypatch.setattr("gantt.engine.background.background._IDLE", 1_000)
    before = shared.passed["cursor"]
    connect(shared, poll_ms=10)
    time.sleep(0.3)
    assert shared.passed["cursor"] - before <= 4


class Ages:
    """A log tailer whose columns are of these ages, and a poller's pauses."""

    def __init__(self, *ages_s: float) -> None:
        self.ages_s = list(ages_s)
        self.looks = 0
        self.pauses_s: list[float] = []

    def age_s(self) -> float:
        return self.ages_s.pop(0)

    def look(self) -> None:
        self.looks += 1

    def wait(self, pause_s: float) -> bool:
        self.pauses_s.append(pause_s)
        return not self.ages_s


def test_poller_skips_a_look_after_a_commit() -> None:
    log_tailer = Ages(0.005, 0.0199, 0.02, 3.0, 0.019)
    threads = SimpleNamespace(event=lambda: log_tailer, start=lambda *_: None)
    replica = SimpleNamespace(durable=0)
    Poller(log_tailer, replica, 0.02, threads)._run()  # type: ignore[arg-type]
    assert log_tailer.looks == 2
    assert log_tailer.pauses_s == pytest.approx(
        [0.02, 0.015, 0.0001, 0.02, 0.02, 0.001]
    )


def _away() -> None:
    raise StoreFailed("away")


def test_poller_backs_off_during_an_outage() -> None:
    class Away(Ages):
        def look(self) -> None:
            super().look()
            raise StoreFailed("away")

    log_tailer = Away(*[9.0] * 6)
    threads = SimpleNamespace(event=lambda: log_tailer, start=lambda *_: None)
    replica = SimpleNamespace(durable=0)
    Poller(log_tailer, replica, 0.02, threads)._run()  # type: ignore[arg-type]
    assert log_tailer.pauses_s == [0.02, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    assert log_tailer.looks == 6
