"""The committer as callers meet it: its queue, its batches, its clock, its end; and all
at once: writers, readers and a database that fails at random."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import (
    Busy,
    DuplicateName,
    GanttError,
    NotFound,
    StoreFailed,
    Unstorable,
)
from gantt.model.changes import Cursor, LogEntry
from gantt.model.commands import CreateProvider, DeleteProvider, SetAggregates
from gantt.state import check
from gantt.store.outcomes import DataError, DefiniteAbort, UnknownOutcome
from tests.engine.conftest import Connect, opened
from tests.engine.faults import Callers, FaultyStore, ScriptedClock
from tests.engine.test_outcomes import create, names
from tests.kinds import ON_SQLITE


def log_of(store: FaultyStore) -> list[LogEntry]:
    entries = store.inner.tail(Cursor())
    assert entries is not None
    return entries


@contextmanager
def one_held(
    store: FaultyStore, books: Gantt, callers: Callers, point: str = "tail"
) -> Iterator[list[Future[Any]]]:
    """The first command is held at this point of the store meanwhile. What is asked is
    answered in the end."""
    hold = store.hold(point)
    asked = [callers.run(books.submit, create(0))]
    hold.wait()
    yield asked
    hold.release()
    for future in asked:
        future.result(20)


def test_waiting_commands_share_a_batch(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    with one_held(store, books, callers) as asked:
        asked += callers.submit(*[create(number) for number in range(1, 31)])
    assert books.counts()["batches"] == 2
    assert names(books) == [f"node-{number}" for number in range(31)]


def test_commands_that_come_while_the_lock_is_awaited_join_the_batch(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    with one_held(store, books, callers, "begin") as asked:
        asked += callers.submit(*[create(number) for number in range(1, 31)])
    assert books.counts()["batches"] == 1
    assert names(books) == [f"node-{number}" for number in range(31)]


def test_batch_size_is_limited(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, batch_size=4)
    callers = Callers(books)
    with one_held(store, books, callers) as asked:
        asked += callers.submit(*[create(number) for number in range(1, 11)])
    assert books.counts()["batches"] == 1 + 3
    callers.close()


def test_full_queue_is_busy(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, queue_length=2)
    callers = Callers(books)
    with one_held(store, books, callers) as asked:
        asked += callers.submit(create(1), create(2))
        with pytest.raises(Busy, match="queue_length"):
            books.submit(create(3))
    books.submit(create(3))
    assert len(names(books)) == 4
    callers.close()


def test_refusal_affects_only_its_caller(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    with one_held(store, books, callers) as asked:
        good, bad, later = callers.submit(
            create(1, "x"), create(2, "x"), DeleteProvider(create(0).uuid)
        )
        asked += [good, later]
    with pytest.raises(DuplicateName):
        bad.result(20)
    assert names(books) == ["x"]
    assert books.revision == 3


def test_batch_of_refusals_writes_nothing(store: FaultyStore, books: Gantt) -> None:
    with pytest.raises(NotFound):
        books.submit(DeleteProvider("unknown"))
    assert (store.passed["write"], books.revision) == (0, 0)


def test_command_without_changes_has_no_revision(
    store: FaultyStore, books: Gantt
) -> None:
    books.submit(create(1))
    books.submit(SetAggregates(create(1).uuid, (), bump=False))
    assert (store.passed["committed"], books.revision) == (1, 1)


def test_write_times_out(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, answer_timeout_s=1.0)
    hold = store.hold("commit")
    with pytest.raises(StoreFailed, match="may still be applied"):
        books.submit(create(1))
    hold.release()
    while books.revision < 1:
        threading.Event().wait(0.001)
    assert names(books) == ["node-1"]


@pytest.mark.parametrize("aborts", [0, 2])
def test_planning_budget_executes_every_command_once(
    store: FaultyStore, connect: Connect, aborts: int
) -> None:
    books = connect(store, planning_ms=0, batch_size=16)
    callers = Callers(books)
    with one_held(store, books, callers) as asked:
        asked += callers.submit(*[create(number) for number in range(1, 21)])
        store.fail("commit", *[DefiniteAbort("deadlock")] * aborts)
    assert names(books) == [f"node-{number}" for number in range(21)]
    assert books.revision == 21
    assert books.counts()["batches"] > 1 + 2  # what the size alone would make
    callers.close()


def test_close_finishes_pending_writes_and_refuses_new_ones(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("tail")
    waiting: list[Future[Any]] = [callers.run(books.submit, create(0))]
    hold.wait()
    waiting += callers.submit(*[create(number) for number in range(1, 6)])
    closing = callers.run(books.close)
    with pytest.raises(TimeoutError):
        closing.result(0.05)
    hold.release()
    closing.result(20)
    for future in waiting:
        assert future.result(20).generation == 0
    with pytest.raises(StoreFailed, match="closed"):
        books.submit(create(9))
    assert books.unready()
    books.close()


@ON_SQLITE
def test_timestamps_are_monotonic_when_the_clock_goes_back(
    shared: FaultyStore, connect: Connect
) -> None:
    # Opening reads it once.
    books = connect(shared, clock=ScriptedClock(100, 100, 200, 50, 250))
    for number in range(1, 5):
        books.submit(create(number))
    assert [entry.at for entry in log_of(shared)] == [100, 200, 200, 250]
    assert [one.modified_at for one in books.list_providers()] == [100, 200, 200, 250]


@ON_SQLITE
def test_timestamps_are_monotonic_across_engines(
    shared: FaultyStore, url: str, connect: Connect
) -> None:
    other = connect(opened(url), clock=ScriptedClock(50))
    books = connect(shared, clock=ScriptedClock(100))
    books.submit(create(1))
    other.submit(create(2))
    assert [entry.at for entry in log_of(shared)] == [100, 100]


def test_the_log_has_the_request_of_each_command(
    shared: FaultyStore, connect: Connect
) -> None:
    books = connect(shared)
    books.submit(create(1), request_id="req-1")
    (entry,) = log_of(shared)
    assert (entry.kind, entry.request_id) == ("CreateProvider", "req-1")
    assert entry.revision == 1
    assert len(entry.batch) == 36


def test_failing_rule_affects_only_its_caller(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("tail")
    first = callers.run(books.submit, create(0))
    hold.wait()
    bad, good = callers.submit(CreateProvider(7, "n"), create(1))  # type: ignore[arg-type]
    broken, fine = callers.submit(object(), create(2))
    hold.release()
    first.result(20)
    bad.exception(20)
    good.result(20)
    with pytest.raises(KeyError):
        broken.result(20)
    fine.result(20)


WRITERS = 8
WISHES = 30


class Storm:
    """Fails a third of all batches, at any point, in any of the three ways."""

    def __init__(self, store: FaultyStore, seed: int) -> None:
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        store.always["begin"] = lambda: self._strike(0.05, DefiniteAbort)
        store.always["write"] = self._write
        store.always["commit"] = lambda: self._strike(
            0.15, DefiniteAbort, UnknownOutcome, StoreFailed
        )
        store.always["committed"] = lambda: self._strike(0.1, UnknownOutcome)
        store.always["has_batch"] = lambda: self._strike(
            0.3, StoreFailed, DefiniteAbort, UnknownOutcome
        )

    def _strike(self, probability: float, *kinds: type[Exception]) -> None:
        with self._lock:
            if self._rng.random() >= probability:
                return
            kind = self._rng.choice(kinds)
        raise kind("storm")

    def _write(self, entries: Sequence[LogEntry]) -> None:
        if any("bad" in str(entry.changes) for entry in entries):
            raise DataError("bad")
        self._strike(0.05, DefiniteAbort, StoreFailed)


def write(books: Gantt, writer: int, acknowledged: set[str]) -> None:
    for number in range(WISHES):
        kind = "bad" if number % 10 == 3 else "good"
        name = f"{kind}-{writer}-{number}"
        try:
            books.submit(CreateProvider(name, name))
            acknowledged.add(name)
        except Unstorable:
            assert kind == "bad"
        except (Busy, StoreFailed):
            pass


def read(books: Gantt, seen: set[str], is_over: threading.Event) -> None:
    while not is_over.is_set():
        before = books.revision
        found = {one.name for one in books.list_providers()}
        assert len(found) >= before
        assert books.revision >= len(found)
        seen |= found


def faults(engines: list[Gantt]) -> tuple[set[str], set[str]]:
    """(acknowledged, seen) after all have written."""
    acknowledged: set[str] = set()
    seen: set[str] = set()
    is_over = threading.Event()
    with ThreadPoolExecutor(WRITERS + 4) as pool:
        readers = [pool.submit(read, books, seen, is_over) for books in engines * 2]
        writers = [
            pool.submit(write, engines[n % len(engines)], n, acknowledged)
            for n in range(WRITERS)
        ]
        try:
            for future in writers:
                future.result(60)
        finally:
            is_over.set()
        for future in readers:
            future.result(60)
    return acknowledged, seen


def all_names(books: Gantt) -> set[str]:
    return {one.name for one in books.list_providers()}


@pytest.mark.parametrize("seed", range(3))
def test_one_engine_with_random_store_failures(
    store: FaultyStore, connect: Connect, seed: int
) -> None:
    books = connect(store, clock=ScriptedClock(1), batch_size=16, commit_attempts=5)
    Storm(store, seed)
    acknowledged, seen = faults([books])
    store.always.clear()
    assert all_names(books) == acknowledged
    assert seen <= acknowledged
    assert books.revision == len(acknowledged)
    assert not any(name.startswith("bad") for name in acknowledged)
    assert len(acknowledged) > WRITERS * WISHES / 2
    assert check.problems(books._replica.state) == []
    assert books.counts()["unknown_outcomes"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_two_engines_with_random_store_failures(
    url: str, connect: Connect, seed: int
) -> None:
    stores = [FaultyStore(opened(url)) for _ in range(2)]
    engines = [connect(store, clock=ScriptedClock(1)) for store in stores]
    for number, store in enumerate(stores):
        Storm(store, 100 * seed + number)
    acknowledged, seen = faults(engines)
    for store in stores:
        store.always.clear()
    for books in engines:
        assert all_names(books) == acknowledged
        assert books.revision == len(acknowledged)
        assert books.verify().problems == ()
        assert books.counts()["foreign_writes"] == 0
    assert seen <= acknowledged


def test_readers_get_only_errors_of_our_tree(
    store: FaultyStore, connect: Connect
) -> None:
    books = connect(store)
    store.fail("cursor", StoreFailed("gone"))
    with pytest.raises(GanttError):
        books.list_providers()
