"""What readers may hear: nothing that is not durable, nothing older than promised."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from gantt.engine.clock import SystemClock
from gantt.engine.gantt import Gantt
from gantt.errors import NotFound, StoreFailed
from gantt.model.commands import CreateProvider, DeleteProvider, UpdateProvider
from gantt.model.requests import ProviderQuery
from gantt.placement import queries
from gantt.state.state import State
from gantt.store.outcomes import DefiniteAbort
from tests.engine.conftest import Connect, opened
from tests.engine.faults import CALLER, Callers, FaultyStore, ScriptedClock, raiser
from tests.engine.test_outcomes import create, names
from tests.kinds import ON_SQLITE
from tests.waiting import until


def test_read_waits_for_the_commit(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("commit")
    writer = callers.run(books.submit, create(1))
    hold.wait()
    reader = callers.run(names, books)
    with pytest.raises(TimeoutError):
        reader.result(0.1)
    assert books.revision == 0
    hold.release()
    assert reader.result(20) == ["node-1"]
    writer.result(20)


def test_read_is_repeated_after_an_abort(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, commit_attempts=1)
    callers = Callers(books)
    books.submit(create(1, "old"))
    computed: list[str] = []

    def query(state: State) -> list[str]:
        found = [one.name for one in queries.providers(state, ProviderQuery())]
        computed.append(*found)
        return found

    hold = store.hold("commit")
    writer = callers.run(books.submit, UpdateProvider(create(1).uuid, "new"))
    hold.wait()
    reader = callers.run(books.read, query)
    until(lambda: bool(computed))
    hold.release(DefiniteAbort("deadlock"))
    assert reader.result(20) == ["old"]
    assert computed == ["new", "old"]
    assert writer.exception(20) is not None
    callers.close()


def test_refusal_based_on_uncommitted_data_waits_too(
    store: FaultyStore, connect: Connect
) -> None:
    books = connect(store, commit_attempts=1)
    callers = Callers(books)
    books.submit(create(1))
    hold = store.hold("commit")
    callers.run(books.submit, DeleteProvider(create(1).uuid))
    hold.wait()
    asked: list[Any] = []

    def query(state: State) -> str:
        asked.append(1)
        found = queries.provider(state, create(1).uuid)
        if found is None:
            raise NotFound("no such provider")
        return found.name

    reader = callers.run(books.read, query)
    until(lambda: bool(asked))
    hold.release(DefiniteAbort("deadlock"))
    assert reader.result(20) == "node-1"
    callers.close()


def test_read_times_out(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, answer_timeout_s=1.0)
    callers = Callers(books)
    hold = store.hold("commit")
    writer = callers.run(books.submit, create(1))
    hold.wait()
    with pytest.raises(StoreFailed, match="did not become durable"):
        names(books)
    hold.release()
    writer.exception(20)
    callers.close()


def test_reads_before_the_batch_do_not_wait(
    store: FaultyStore, books: Gantt, callers: Callers
) -> None:
    hold = store.hold("begin")
    writer = callers.run(books.submit, create(1))
    hold.wait()
    assert callers.run(names, books).result(20) == []
    hold.release()
    writer.result(20)


def test_strict_reads_check_the_database_or_fail(
    store: FaultyStore, books: Gantt
) -> None:
    names(books)
    names(books)
    assert store.passed["cursor"] == 2
    store.fail("cursor", StoreFailed("gone"))
    assert books.unready()
    store.fail("cursor", StoreFailed("gone"))
    with pytest.raises(StoreFailed):
        names(books)
    assert names(books) == []


@ON_SQLITE
def test_lag_is_known_without_asking_the_database(url: str, connect: Connect) -> None:
    store, clock = FaultyStore(opened(url)), LogicalClock()
    books = connect(store, clock=clock, poll_ms=0)
    other = connect(opened(url))
    for number in range(3):
        other.submit(create(number))
    store.always["log"] = raiser(StoreFailed("gone"))
    with pytest.raises(StoreFailed):
        names(books)
    told = {
        "revision_lag": 3,
        "database_silence_seconds": 0,
        "liveness_frozen": False,
    }
    assert books.keeping_up() == told
    store.fail("cursor", StoreFailed("gone"))
    with pytest.raises(StoreFailed):
        names(books)
    asked = store.passed["cursor"]
    first, second = books.keeping_up(), books.keeping_up()
    assert first["revision_lag"] == second["revision_lag"] == 3
    assert first["database_silence_seconds"] < second["database_silence_seconds"]
    assert store.passed["cursor"] == asked
    del store.always["log"]
    names(books)
    assert books.keeping_up() == {**told, "revision_lag": 0}


class LogicalClock(SystemClock):
    """Each look is ``step_s`` later than the last. ``callers``: names of the threads of
    ``Callers`` that have looked; those of the engine look as well."""

    step_s = 0.001

    def __init__(self) -> None:
        self.looks = 0
        self.callers: set[str] = set()
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        with self._lock:
            self.looks += 1
            looked_at = self.looks * self.step_s
        # Who has come has its time: what happens from here on is later.
        if (name := threading.current_thread().name).startswith(CALLER):
            self.callers.add(name)
        return looked_at


def crowd(
    books: Gantt, clock: LogicalClock, store: FaultyStore, callers: Callers
) -> list[Future[list[str]]]:
    """Four readers, of whom three came when the first had asked already."""
    hold = store.hold("cursor")
    readers = [callers.run(names, books)]
    hold.wait()
    readers += [callers.run(names, books) for _ in range(3)]
    until(lambda: len(clock.callers) == len(readers))
    hold.release()
    return readers


def test_waiting_for_a_stalled_database_is_limited(url: str, connect: Connect) -> None:
    store = FaultyStore(opened(url))
    books = connect(store, wait_s=0.3, patient=2, answer_timeout_s=1.5)
    callers = Callers(books)
    hold = store.hold("cursor")
    first = callers.run(names, books)
    hold.wait()
    time.sleep(0.35)
    readers = [callers.run(names, books) for _ in range(6)]
    until(lambda: sum(reader.done() for reader in readers) >= 4)
    assert books.counts()["reads_turned_away"] == 4
    assert books.keeping_up()["database_silence_seconds"] > 0.3
    for reader in readers:
        with pytest.raises(StoreFailed, match="does not answer"):
            reader.result(20)
    assert books.unready()
    hold.release()
    assert first.result(20) == names(books) == []
    assert not books.unready()
    callers.close()


def test_one_select_answers_all_readers_that_waited_for_it(
    url: str, connect: Connect
) -> None:
    store, clock = FaultyStore(opened(url)), LogicalClock()
    books = connect(store, clock=clock)
    callers = Callers(books)
    connect(opened(url)).submit(create(1))
    readers = crowd(books, clock, store, callers)
    assert [reader.result(20) for reader in readers] == [["node-1"]] * 4
    assert store.passed["cursor"] == 2
    assert names(books) == ["node-1"]
    assert store.passed["cursor"] == 3
    callers.close()


@pytest.mark.parametrize(("step_s", "failures"), [(0.001, 1), (1.0, 2)])
def test_failed_query_is_shared_only_if_it_was_slow(
    url: str, connect: Connect, step_s: float, failures: int
) -> None:
    store, clock = FaultyStore(opened(url)), LogicalClock()
    clock.step_s = step_s
    books = connect(store, clock=clock)
    callers = Callers(books)
    hold = store.hold("cursor")
    first = callers.run(names, books)
    hold.wait()
    store.fail("cursor", StoreFailed("gone"))
    others = [callers.run(names, books) for _ in range(2)]
    until(lambda: len(clock.callers) == 1 + len(others))
    hold.release()
    heard = [reader.exception(20) for reader in (first, *others)]
    assert sum(isinstance(what, StoreFailed) for what in heard) == failures
    assert heard[0] is None
    callers.close()


def test_strict_reads_see_acknowledged_writes_of_other_engines(
    url: str, connect: Connect
) -> None:
    left, right = connect(opened(url)), connect(opened(url))
    for number in range(20):
        writer, reader = (left, right) if number % 2 else (right, left)
        writer.submit(create(number))
        assert len(names(reader)) == number + 1
        assert reader.revision == writer.revision == number + 1


def test_bounded_reads_have_a_maximum_age(url: str, connect: Connect) -> None:
    clock = ScriptedClock(1)
    now = 100.0

    def monotonic() -> float:
        return now

    clock.monotonic = monotonic  # type: ignore[method-assign]
    store = FaultyStore(opened(url))
    left = connect(opened(url))
    right = connect(store, clock=clock, freshness="bounded", bound_ms=1000)
    names(right)
    asked, sent = store.passed["cursor"], store.statements
    left.submit(create(1))
    now += 0.9
    assert names(right) == []
    assert (store.passed["cursor"], store.statements) == (asked, sent)
    now += 0.2
    assert names(right) == ["node-1"]
    assert store.passed["cursor"] == asked + 1


def test_commit_refreshes_bounded_reads(url: str, connect: Connect) -> None:
    clock = ScriptedClock(1)
    now = 100.0

    def monotonic() -> float:
        return now

    clock.monotonic = monotonic  # type: ignore[method-assign]
    store = FaultyStore(opened(url))
    left = connect(opened(url))
    right = connect(store, clock=clock, freshness="bounded", bound_ms=1000)
    names(right)
    left.submit(create(1))
    now += 0.9
    right.submit(create(2))
    asked = store.passed["cursor"]
    now += 0.9
    assert names(right) == ["node-1", "node-2"]
    assert store.passed["cursor"] == asked
    now += 0.2
    names(right)
    assert store.passed["cursor"] == asked + 1


def test_bounded_reads_see_own_writes(store: FaultyStore, connect: Connect) -> None:
    books = connect(store, freshness="bounded", bound_ms=1_000_000)
    names(books)
    books.submit(create(1))
    assert names(books) == ["node-1"]


def test_old_snapshot_is_not_fresh(url: str, connect: Connect) -> None:
    """Loading a big database takes longer than the bound."""
    other = connect(opened(url))
    store = FaultyStore(opened(url))
    store.always["load"] = lambda: time.sleep(0.02)
    books = connect(store, freshness="bounded", bound_ms=10)
    other.submit(create(1))
    assert names(books) == ["node-1"]


def test_failing_query_affects_only_its_caller(
    store: FaultyStore, books: Gantt
) -> None:
    def query(state: State) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        books.read(query)
    books.submit(CreateProvider("u", "n"))
    assert names(books) == ["n"]
