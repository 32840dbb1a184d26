"""Columns keep up with other processes while nobody asks."""

from __future__ import annotations

import time

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import StoreFailed
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create


def until_at(books: Gantt, revision: int) -> None:
    deadline = time.monotonic() + 20
    while books.revision < revision:
        assert time.monotonic() < deadline, "it never kept up"
        time.sleep(0.002)


def test_what_others_commit_comes_by_itself(url: str, connect: Connect) -> None:
    behind = connect(opened(url), poll_ms=5)
    books = connect(opened(url))
    for number in range(1, 4):
        books.submit(create(number))
        until_at(behind, number)
    assert behind.counts()["reloads"] == 0


def test_nobody_looks_unless_told_to(shared: FaultyStore, connect: Connect) -> None:
    books = connect(shared)
    before = shared.passed["cursor"]
    time.sleep(0.1)
    assert shared.passed["cursor"] == before
    books.close()


def test_a_database_that_is_away_is_told_of_once_and_looked_for_again(
    shared: FaultyStore,
    url: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("gantt.engine.poller._PAUSE_S", 0.01)
    behind = connect(shared, poll_ms=5)
    shared.always["cursor"] = _away
    passed = shared.passed["cursor"]
    while shared.passed["cursor"] < passed + 4:
        time.sleep(0.002)
    shared.always.clear()
    connect(opened(url)).submit(create(1))
    until_at(behind, 1)
    assert caplog.text.count("nobody knows what other processes wrote") == 1


def test_who_is_alone_looks_less_often(
    shared: FaultyStore, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantt.engine.poller._QUIET", 2)
    monkeypatch.setattr("gantt.engine.poller._IDLE", 1_000)
    before = shared.passed["cursor"]
    connect(shared, poll_ms=10)
    time.sleep(0.3)
    assert shared.passed["cursor"] - before <= 4


def _away() -> None:
    raise StoreFailed("away")
