"""The log stays within its length, and a leader task that fails stops no committer."""

from __future__ import annotations

import time

import pytest

from gantt.errors import StoreFailed
from tests.databases import execute
from tests.engine.conftest import Connect
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gantt.engine.background.leader_tasks._COMPACT_EVERY", 5)


def log_rows(url: str) -> tuple[int, int, int]:
    """First and last revision in the log, and how far the head says it is compacted."""
    (found,) = execute(
        url,
        "SELECT min(revision), max(revision), (SELECT compacted_to FROM gantt_head) "
        "FROM gantt_log",
    )
    return tuple(found)


def test_log_length_is_bounded(shared: FaultyStore, url: str, connect: Connect) -> None:
    books = connect(shared, log_length=10, sweep_s=0.01)
    for number in range(1, 33):
        books.submit(create(number))
    while log_rows(url)[0] < 19:  # 32 revisions, fewer than 5 since the last look
        time.sleep(0.01)
    books.close()
    first, last, compacted_to = log_rows(url)
    assert (first, last) == (compacted_to + 1, 32)
    assert last - first + 1 in range(10, 15)
    assert books.counts()["compacted"] == compacted_to
    assert books.counts()["log_limit"] == 10


def test_short_log_is_not_compacted(
    shared: FaultyStore, url: str, connect: Connect
) -> None:
    books = connect(shared, sweep_s=0.01)
    for number in range(1, 12):
        books.submit(create(number))
    time.sleep(0.1)
    books.close()
    assert log_rows(url) == (1, 11, 0)


def test_a_failed_compaction_is_logged_and_blocks_nothing(
    shared: FaultyStore, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(keep: int) -> int:
        raise StoreFailed("disk full")

    shared.inner.compact = fail  # type: ignore[method-assign]
    books = connect(shared, log_length=10, sweep_s=0.01)
    for number in range(1, 8):
        books.submit(create(number))
    while "leader task 'compact' failed: disk full" not in caplog.text:
        time.sleep(0.01)
    assert books.revision == 7
