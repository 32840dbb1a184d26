"""Engines on stores that can be made to fail, with and without SQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gantt.engine.clock import Clock
from gantt.engine.factory import standard_names
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.store import Store, StoreOptions, open_store
from gantt.store.memory_store import MemoryStore
from tests.databases import Databases
from tests.engine.faults import NOW, Callers, FaultyStore, ScriptedClock
from tests.engine.hooks import Fleet, hook
from tests.kinds import KINDS

Connect = Callable[..., Gantt]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on."""
    return str(request.param)


@contextmanager
def furnished(
    kind: str, databases: Databases, empty_books: Path, folder: Path
) -> Iterator[str]:
    """The URL of a database with empty tables."""
    if kind == "sqlite":
        yield f"sqlite:///{shutil.copy(empty_books, folder / 'books.db')}"
    else:
        with databases.database(kind) as url:
            yield url


@pytest.fixture
def url(
    kind: str, databases: Databases, empty_books: Path, tmp_path: Path
) -> Iterator[str]:
    """A database that several engines can share."""
    with furnished(kind, databases, empty_books, tmp_path) as url:
        yield url


def opened(url: str, lock_timeout_s: float = 20) -> Store:
    return open_store(url, StoreOptions(lock_timeout_s=lock_timeout_s))


@pytest.fixture
def shared(url: str) -> FaultyStore:
    """A store on it."""
    return FaultyStore(opened(url))


@pytest.fixture(params=["memory", *KINDS])
def store(
    request: pytest.FixtureRequest,
    databases: Databases,
    empty_books: Path,
    tmp_path: Path,
) -> Iterator[FaultyStore]:
    """A store for one engine."""
    if request.param == "memory":
        yield FaultyStore(opened("memory://"))
        return
    with furnished(request.param, databases, empty_books, tmp_path) as url:
        yield FaultyStore(opened(url))


@pytest.fixture
def connect() -> Iterator[Connect]:
    """An engine on a store; closed at the end."""
    engines: list[Gantt] = []

    def make(
        store: Store | FaultyStore, *, clock: Clock | None = None, **options: object
    ) -> Gantt:
        settings = {"answer_timeout_s": 30.0, **options}
        books = Gantt(store, EngineOptions(**settings), clock=clock)  # type: ignore[arg-type]
        engines.append(books)
        return books

    yield make
    for books in engines:
        books.close()


@pytest.fixture
def books(store: FaultyStore, connect: Connect) -> Gantt:
    return connect(store)


@pytest.fixture
def callers(books: Gantt) -> Iterator[Callers]:
    found = Callers(books)
    yield found
    found.close()


@pytest.fixture
def open_fleet() -> Iterator[Fleet]:
    """Opens engines whose plug-ins do nothing yet."""
    hook.__init__()  # type: ignore[misc]
    fleet = Fleet()
    yield fleet
    hook.does = lambda _seen: None
    for engine in fleet.engines:
        engine.close()


@pytest.fixture
def clock() -> ScriptedClock:
    """It stands at NOW."""
    found = ScriptedClock()
    found.last = NOW
    return found


@pytest.fixture
def timed(clock: ScriptedClock) -> Iterator[Gantt]:
    """Books in memory, by ``clock``."""
    with Gantt(
        MemoryStore(), EngineOptions(), clock=clock, standard_names=standard_names()
    ) as found:
        yield found
