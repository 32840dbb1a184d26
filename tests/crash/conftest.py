"""Databases of each kind, for what is killed while it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import Databases
from tests.kinds import KINDS


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on."""
    return str(request.param)


@pytest.fixture
def database(kind: str, tmp_path: Path, databases: Databases) -> Iterator[str]:
    """Where the books are."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path}/books.db"
    else:
        with databases.database(kind) as url:
            yield url
