"""A store on a database of its own for each test: SQLite, PostgreSQL, MariaDB."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.store import StoreOptions, open_store
from gantt.store.sql_store import SqlStore
from tests.databases import Databases
from tests.foreign import placement_on
from tests.kinds import KINDS
from tests.store.adoption import fill


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.db"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on."""
    return str(request.param)


@pytest.fixture
def url(
    request: pytest.FixtureRequest,
    kind: str,
    path: Path,
    databases: Databases,
    empty_books: Path,
) -> Iterator[str]:
    """A database in which nothing is written yet. What makes tables in a file has none
    before; a ``store`` needs them."""
    if kind == "sqlite":
        if "store" in request.fixturenames:
            shutil.copy(empty_books, path)
        yield f"sqlite:///{path}"
    else:
        with databases.database(kind) as url:
            yield url


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    # MariaDB counts in whole seconds.
    opened = open_store(url, StoreOptions(lock_timeout_s=0.2))
    assert isinstance(opened, SqlStore)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file as Placement left it; copied, never used."""
    path = tmp_path_factory.mktemp("filled") / "placement.db"
    with placement_on(f"sqlite:///{path}") as placement:
        fill(placement)
    return path
