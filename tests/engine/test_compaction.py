"""The log stays within its length, and a chore that fails stops no gate."""

from __future__ import annotations

import sqlite3

import pytest

from gantt.errors import StoreFailed
from tests.engine.conftest import Connect
from tests.engine.faults import FaultyStore
from tests.engine.test_outcomes import create


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gantt.engine.writer._COMPACT_EVERY", 5)


def log_rows(url: str) -> tuple[int, int, int]:
    """First and last revision in the log, and how far the head says it is compacted."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    (found,) = connection.execute(
        "SELECT min(revision), max(revision), (SELECT compacted_to FROM gantt_head) "
        "FROM gantt_log"
    )
    connection.close()
    return tuple(found)


def test_the_log_keeps_its_length(
    sqlite: FaultyStore, sqlite_url: str, connect: Connect
) -> None:
    books = connect(sqlite, log_length=10)
    for number in range(1, 33):
        books.submit(create(number))
    books.close()  # waits for the gate's last chore
    assert log_rows(sqlite_url) == (21, 32, 20)
    assert books.counts()["compacted"] == 20
    assert books.counts()["log_limit"] == 10


def test_a_short_log_is_left_alone(
    sqlite: FaultyStore, sqlite_url: str, connect: Connect
) -> None:
    books = connect(sqlite)
    for number in range(1, 12):
        books.submit(create(number))
    books.close()
    assert log_rows(sqlite_url) == (1, 11, 0)


def test_a_log_that_cannot_be_compacted_is_told_and_stops_nobody(
    sqlite: FaultyStore, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(keep: int) -> int:
        raise StoreFailed("disk full")

    sqlite.inner.compact = fail  # type: ignore[method-assign]
    books = connect(sqlite, log_length=10)
    for number in range(1, 8):
        books.submit(create(number))
    assert "could not be compacted: disk full" in caplog.text
    assert books.revision == 7
