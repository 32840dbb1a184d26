"""Reads that wait for nothing: the same answers, or none."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.reading.reader import WouldWait
from gantt.model.answers import ConsumerView
from gantt.model.commands import (
    ConsumerAllocations,
    DeleteAllocations,
    Inventory,
    SetAllocations,
    SetInventories,
    SyncNames,
)
from gantt.placement.queries import touched_allocations
from gantt.state.state import State
from gantt.store.outcomes import DefiniteAbort
from gantt.store.session import ReadSession
from gantt.store.sql_store import SqlStore
from tests.engine.conftest import Connect, opened
from tests.engine.faults import Callers, FaultyStore
from tests.engine.test_outcomes import create
from tests.kinds import ON_SQLITE

HOST = create(1)
OTHER = create(2)


def claim(consumer: str, provider: str = HOST.uuid) -> SetAllocations:
    shares = {provider: {"VCPU": 1}}
    return SetAllocations((ConsumerAllocations(consumer, shares, "p", "u", None),))


def furnish(books: Gantt) -> None:
    books.submit(SyncNames(("VCPU",), ()))
    for host in (HOST, OTHER):
        books.submit(host)
        books.submit(SetInventories(host.uuid, {"VCPU": Inventory(100)}))
    books.submit(claim("known"))


def at_once(books: Gantt, consumer: str) -> ConsumerView | None:
    return books.read_touched(touched_allocations, consumer, at_once=True)


def would_wait(books: Gantt, consumer: str) -> bool:
    try:
        at_once(books, consumer)
    except WouldWait:
        return True
    return False


def test_answers_are_those_of_a_read(url: str, connect: Connect) -> None:
    books = connect(opened(url), freshness="bounded", bound_ms=60_000)
    furnish(books)
    known = at_once(books, "known")
    assert known is not None
    assert known == books.get_allocations("known")
    assert known.allocations[HOST.uuid].resources == {"VCPU": 1}
    assert at_once(books, "missing") is None


@ON_SQLITE
def test_a_file_is_asked_without_waiting(url: str, connect: Connect) -> None:
    store = FaultyStore(opened(url))
    left, right = connect(store), connect(opened(url))
    furnish(left)
    asked = store.passed["cursor"]
    assert at_once(left, "known") is not None
    assert store.passed["cursor"] == asked
    # What others have committed is applied by a read that waits.
    right.submit(claim("new"))
    assert would_wait(left, "new")
    assert left.get_allocations("new") is not None
    assert at_once(left, "new") is not None


def test_a_server_is_not_asked(kind: str, url: str, connect: Connect) -> None:
    books = connect(opened(url))
    furnish(books)
    assert would_wait(books, "known") == (kind != "sqlite")


@ON_SQLITE
def test_only_its_own_connection_waits_for_no_lock(url: str) -> None:
    store = opened(url)
    assert isinstance(store, SqlStore)
    readers = store._readers

    def timeout_ms(reader: ReadSession) -> int:
        return int(reader.one("PRAGMA busy_timeout")[0])

    assert readers.read_at_once(timeout_ms) == 0
    assert readers.read(timeout_ms) == 20_000

    def fail(_: ReadSession) -> int:
        raise DefiniteAbort("database is locked")

    assert readers.read_at_once(fail) is None
    assert readers.read(timeout_ms) == 20_000
    assert readers.read_at_once(timeout_ms) == 0
    store.close()
    assert store.cursor_at_once() is None


@ON_SQLITE
def test_a_file_that_was_replaced_is_left_to_reads_that_fail(
    url: str, connect: Connect
) -> None:
    books = connect(opened(url))
    furnish(books)
    assert not would_wait(books, "known")
    path = Path(url.removeprefix("sqlite:///"))
    path.rename(path.with_suffix(".away"))
    assert would_wait(books, "known")
    path.with_suffix(".away").rename(path)
    assert not would_wait(books, "known")


@ON_SQLITE
def test_columns_in_use_are_not_waited_for(url: str, connect: Connect) -> None:
    books = connect(opened(url))
    furnish(books)
    callers = Callers(books)
    reached, released = threading.Event(), threading.Event()

    def query(_: State) -> None:
        reached.set()
        assert released.wait(20)

    reader = callers.run(books.read, query)
    assert reached.wait(20)
    assert would_wait(books, "known")
    released.set()
    reader.result(20)
    assert not would_wait(books, "known")
    callers.close()


@ON_SQLITE
@pytest.mark.parametrize("is_committed", [True, False])
def test_only_durable_answers(url: str, connect: Connect, is_committed: bool) -> None:
    store = FaultyStore(opened(url))
    books = connect(store, commit_attempts=1)
    furnish(books)
    books.submit(claim("elsewhere", OTHER.uuid))
    callers = Callers(books)
    hold = store.hold("commit")
    writers = [callers.run(books.submit, claim("new"))]
    hold.wait()
    # The claim also raised the generation of the provider that "known" is on.
    assert would_wait(books, "new")
    assert would_wait(books, "known")
    assert would_wait(books, "missing")
    assert not would_wait(books, "elsewhere")
    waiting = callers.run(books.get_allocations, "known")
    hold.release(None if is_committed else DefiniteAbort("deadlock"))
    found = waiting.result(20)
    assert found is not None
    assert (writers[0].exception(20) is None) == is_committed
    assert (at_once(books, "new") is not None) == is_committed
    assert at_once(books, "known") == found
    callers.close()


@ON_SQLITE
def test_deletion_is_not_answered_before_it_is_durable(
    url: str, connect: Connect
) -> None:
    store = FaultyStore(opened(url))
    books = connect(store)
    furnish(books)
    callers = Callers(books)
    hold = store.hold("commit")
    writer = callers.run(books.submit, DeleteAllocations("known"))
    hold.wait()
    assert would_wait(books, "known")
    hold.release()
    writer.result(20)
    assert at_once(books, "known") is None
    callers.close()
