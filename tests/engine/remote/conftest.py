"""A remote Placement to ask, and an engine that asks it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantt.engine.gantt import Gantt
from tests.elsewhere import (
    Elsewhere,
    Shaky,
    Wall,
    elsewhere,
    engine_on,
)


@pytest.fixture(params=["gantt", "upstream"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Elsewhere]:
    with elsewhere(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def books(there: Elsewhere) -> Shaky:
    return Shaky(there.url)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def engine(books: Shaky, wall: Wall) -> Iterator[Gantt]:
    with engine_on(books, wall=wall) as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, empty_books: Path) -> str:
    """A database that outlives its engine."""
    return f"sqlite:///{shutil.copy(empty_books, tmp_path / 'here.db')}"
