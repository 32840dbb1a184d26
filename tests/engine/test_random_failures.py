"""Everything at once: writers, readers and a database that fails at random.

What was acknowledged is there at the end, what was refused is not, and no reader ever
saw anything that is not there at the end (nothing is deleted here).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from gantt.engine.gantt import Gantt
from gantt.errors import Busy, GanttError, StoreFailed, Unstorable
from gantt.model.changes import LogEntry
from gantt.model.commands import CreateProvider
from gantt.state import check
from gantt.store.outcomes import DataError, DefiniteAbort, UnknownOutcome
from tests.engine.conftest import Connect, opened
from tests.engine.faults import FaultyStore, ScriptedClock

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


def names(books: Gantt) -> set[str]:
    return {one.name for one in books.list_providers()}


@pytest.mark.parametrize("seed", range(3))
def test_one_engine_with_random_store_failures(
    store: FaultyStore, connect: Connect, seed: int
) -> None:
    books = connect(store, clock=ScriptedClock(1), batch_size=16, commit_attempts=5)
    Storm(store, seed)
    acknowledged, seen = faults([books])
    store.always.clear()
    assert names(books) == acknowledged
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
        assert names(books) == acknowledged
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
