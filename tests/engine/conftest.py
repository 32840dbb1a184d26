"""Engines on stores that can be made to fail, with and without SQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantt.engine.clock import Clock
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.store import Store, StoreOptions, open_store
from tests.engine.faults import Callers, FaultyStore

Connect = Callable[..., Gantt]


@pytest.fixture(scope="session")
def empty_books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with empty tables: copying it is quicker than migrating."""
    path = tmp_path_factory.mktemp("empty") / "books.db"
    open_store(f"sqlite:///{path}", StoreOptions(create=True)).close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, empty_books: Path) -> str:
    return f"sqlite:///{shutil.copy(empty_books, tmp_path / 'books.db')}"


def opened(url: str, lock_timeout_s: float = 20) -> Store:
    return open_store(url, StoreOptions(lock_timeout_s=lock_timeout_s))


@pytest.fixture
def sqlite(sqlite_url: str) -> FaultyStore:
    return FaultyStore(opened(sqlite_url))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, sqlite_url: str) -> FaultyStore:
    return FaultyStore(opened("memory://" if request.param == "memory" else sqlite_url))


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
