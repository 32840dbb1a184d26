"""A store on an SQLite file of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.store import StoreOptions, open_store
from gantt.store.sql import SqlStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    opened = open_store(url, StoreOptions(create=True, lock_timeout_s=0.2))
    assert isinstance(opened, SqlStore)
    yield opened
    opened.close()
