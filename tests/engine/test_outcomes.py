"""What becomes of a batch when the database aborts, refuses or falls silent."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Busy, DuplicateName, StoreFailed, Unstorable
from gantt.model.changes import Change, Cursor, LogEntry
from gantt.model.commands import CreateProvider, UpdateProvider
from gantt.state import check
from gantt.store.outcomes import DataError, DefiniteAbort, UnknownOutcome
from tests.engine.conftest import Connect, opened
from tests.engine.faults import Callers, FaultyStore, ScriptedClock


def create(number: int, name: str | None = None) -> CreateProvider:
    uuid = f"{number:08x}-0000-4000-8000-000000000000"
    return CreateProvider(uuid, name or f"node-{number}")


def names(books: Gantt) -> list[str]:
    return [provider.name for provider in books.list_providers()]


def in_one_batch(
    store: FaultyStore, callers: Callers, *commands: Any
) -> list[Future[Any]]:
    """Commands that the committer takes together, after one that it is busy with."""
    hold = store.hold("tail")
    first = callers.run(callers._books.submit, create(999, "first"))
    hold.wait()
    futures = callers.submit(*commands)
    hold.release()
    first.result(20)
    return futures


@pytest.mark.parametrize("point", ["begin", "tail", "write", "commit"])
def test_callers_do_not_notice_an_abort(
    store: FaultyStore, books: Gantt, point: str
) -> None:
    store.fail(point, *[DefiniteAbort("deadlock")] * 3)
    books.submit(create(1))
    assert names(books) == ["node-1"]
    assert books.revision == 1
    assert books.counts()["aborts"] == 3


def test_aborted_batch_is_replanned_in_order(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("tail")
    futures = [callers.run(books.submit, create(9))]
    hold.wait()
    futures += callers.submit(create(1), create(2, "node-1"), create(3))
    store.fail("commit", DefiniteAbort("one"), DefiniteAbort("two"))
    hold.release()
    assert futures[1].result(20).name == "node-1"
    with pytest.raises(DuplicateName):
        futures[2].result(20)
    assert futures[3].result(20).name == "node-3"
    assert names(books) == ["node-9", "node-1", "node-3"]
    assert books.revision == 3


def test_attempts_end_with_busy(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, commit_attempts=3)
    store.fail("commit", *[DefiniteAbort("again")] * 3)
    with pytest.raises(Busy, match="3 times"):
        books.submit(create(1))
    assert names(books) == []
    books.submit(create(1))
    assert names(books) == ["node-1"]


def test_data_error_fails_only_its_command(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    def refuse(entries: Sequence[LogEntry]) -> None:
        if "too-long" in str(entries):  # no uuid of a batch reads so
            raise DataError("value too long")

    store.always["write"] = refuse
    commands = [create(1), create(2, "too-long"), create(3)]
    good, bad, too = in_one_batch(store, callers, *commands)
    assert good.result(20).name == "node-1"
    with pytest.raises(Unstorable, match="value too long"):
        bad.result(20)
    assert too.result(20).name == "node-3"
    assert names(books) == ["first", "node-1", "node-3"]


def test_commands_after_a_failed_one_are_planned_without_it(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    def refuse(entries: Sequence[LogEntry]) -> None:
        if any(entry.kind == "UpdateProvider" for entry in entries):
            raise DataError("no renaming here")

    books.submit(create(1, "a"))
    store.always["write"] = refuse
    rename = UpdateProvider(create(1).uuid, "b")
    bad, good = in_one_batch(store, callers, rename, create(2, "b"))
    with pytest.raises(Unstorable):
        bad.result(20)
    assert good.result(20).name == "b"
    assert names(books) == ["a", "first", "b"]


def test_lost_reply_to_a_durable_commit_is_success(
    store: FaultyStore, books: Gantt
) -> None:
    store.fail("committed", UnknownOutcome("connection reset"))
    books.submit(create(1))
    assert (names(books), books.revision) == (["node-1"], 1)
    assert books.counts()["unknown_outcomes"] == 1
    assert store.passed["write"] == 1


def test_lost_commit_is_repeated(store: FaultyStore, books: Gantt) -> None:
    store.fail("commit", UnknownOutcome("connection reset"))
    books.submit(create(1))
    assert (names(books), books.revision) == (["node-1"], 1)
    assert store.passed["write"] == 2


@pytest.mark.parametrize("was_kept", [True, False])
def test_no_answer_before_the_outcome_is_known(
    store: FaultyStore, connect: Connect, was_kept: bool
) -> None:
    clock = ScriptedClock(1)
    books = connect(store, clock=clock)
    callers = Callers(books)
    point = "committed" if was_kept else "commit"
    store.fail(point, UnknownOutcome("connection reset"))
    silence: list[Exception] = [StoreFailed("gone"), DefiniteAbort("locked")]
    store.fail("has_batch", *silence, UnknownOutcome("gone again"))
    hold = store.hold("has_batch")
    answer = callers.run(books.submit, create(1))
    hold.wait()
    reader = callers.run(names, books)
    assert not answer.done()
    assert len(clock.pauses) == 3
    assert clock.pauses == sorted(clock.pauses)
    with pytest.raises(TimeoutError):
        reader.result(0.1)
    hold.release()
    assert answer.result(20).name == "node-1"
    assert reader.result(20) in ([], ["node-1"])
    assert names(books) == ["node-1"]
    callers.close()


@pytest.mark.parametrize("was_kept", [True, False])
def test_an_unknown_outcome_is_reported_as_unknown(
    shared: FaultyStore, url: str, connect: Connect, was_kept: bool
) -> None:
    books, other = connect(shared), connect(opened(url))
    point = "committed" if was_kept else "commit"
    shared.fail(point, UnknownOutcome("connection reset"))
    hold = shared.hold("has_batch")
    callers = Callers(books)
    answer = callers.run(books.submit, create(1))
    hold.wait()
    for number in range(2, 5):
        other.submit(create(number))
    other._store.compact(1)
    hold.release()
    with pytest.raises(
        StoreFailed, match="applied completely, or not at all.*Check before"
    ):
        answer.result(20)
    assert shared.passed["write"] == 1  # it was not planned again
    expected = ["node-1"] * was_kept + ["node-2", "node-3", "node-4"]
    assert names(books) == expected
    books.submit(create(5))
    assert names(books) == [*expected, "node-5"]
    assert books.verify().problems == ()
    callers.close()


def test_close_does_not_wait_for_an_unreachable_database(
    store: FaultyStore, connect: Connect
) -> None:
    books = connect(store, clock=ScriptedClock(1))
    callers = Callers(books)
    store.fail("committed", UnknownOutcome("connection reset"))
    hold = store.hold("has_batch")
    answer = callers.run(books.submit, create(1))
    hold.wait()
    store.always["has_batch"] = _gone
    closing = callers.run(books.close)
    with pytest.raises(TimeoutError):
        closing.result(0.05)
    hold.release(StoreFailed("gone"))
    with pytest.raises(StoreFailed, match="outcome is unknown"):
        answer.result(20)
    closing.result(20)
    callers.close()


def _gone() -> None:
    raise StoreFailed("gone")


def test_store_failure_fails_the_batch_and_is_undone(
    store: FaultyStore, books: Gantt
) -> None:
    for point in ("begin", "tail", "write", "commit"):
        store.fail(point, StoreFailed(f"disk full at {point}"))
        with pytest.raises(StoreFailed, match=point):
            books.submit(create(1))
        assert (names(books), books.revision) == ([], 0)
    books.submit(create(1))
    assert names(books) == ["node-1"]


def test_internal_error_fails_the_batch_and_the_committer_continues(
    store: FaultyStore, books: Gantt
) -> None:
    books.submit(create(1))
    store.fail("write", RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        books.submit(create(2))
    assert names(books) == ["node-1"]
    books.submit(create(2))
    assert names(books) == ["node-1", "node-2"]
    assert check.problems(books._replica.state) == []


@pytest.mark.parametrize("was_kept", [False, True])
def test_a_failure_at_commit_is_reported_if_nothing_was_kept(
    store: FaultyStore, books: Gantt, was_kept: bool
) -> None:
    full = UnknownOutcome("full", StoreFailed("The disk is full: make room."))
    store.fail("committed" if was_kept else "commit", full)
    if was_kept:
        books.submit(create(1))
    else:
        with pytest.raises(StoreFailed, match="make room"):
            books.submit(create(1))
    assert store.passed["commit"] == 1
    assert names(books) == ["node-1"] * was_kept
    books.submit(create(2))
    assert names(books)[-1] == "node-2"


def test_state_is_reloaded_after_an_internal_error(
    shared: FaultyStore,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    books = connect(shared)
    books.submit(create(1))
    assume = books._replica.assume

    def half(changes: Sequence[Change], cursor: Cursor) -> None:
        monkeypatch.undo()
        assume(changes, cursor)
        raise RuntimeError("a mistake")

    monkeypatch.setattr(books._replica, "assume", half)
    with pytest.raises(RuntimeError, match="a mistake"):
        books.submit(create(2))
    books.submit(create(3))
    assert names(books) == ["node-1", "node-3"]
    assert books.revision == 2
    assert books.verify().problems == ()
