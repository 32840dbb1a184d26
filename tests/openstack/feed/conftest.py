"""A cloud of databases without services: one cell, and cell0."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import gantt
from gantt.conf.feed_settings import FeedOptions
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.openstack.feed import Feed
from gantt.scheduler.options import SchedulerOptions
from tests.openstack.feed.nova_databases import CELL0, ApiDatabase, CellDatabase

# As short as options allow, so that tests need not wait.
OPTIONS: dict[str, Any] = {"feed_interval": 0.1, "feed_overlap": 5.0, "feed_retry": 0.5}


class Cloud:
    """``api`` and its cells by name; ``books``: the Gantt that is fed."""

    def __init__(self, folder: Path, schema: Path, stack: ExitStack) -> None:
        self._folder, self._schema, self._stack = folder, schema, stack
        self.api = ApiDatabase(self._copy("api"))
        stack.callback(self.api.close)
        self.api.map_cell("cell0", "sqlite:////nowhere", uuid=CELL0)
        self.cells: dict[str, CellDatabase] = {}
        self.uuids: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.books = self.new_books()

    def new_books(self, **options: Any) -> Gantt:
        chosen = SchedulerOptions(use_placement="never", **options)
        found = gantt.connect("memory://", options=EngineOptions(scheduler=chosen))
        assert isinstance(found, Gantt)
        self._stack.callback(found.close)
        return found

    def cell(self, name: str, **values: Any) -> CellDatabase:
        """A new cell."""
        database = CellDatabase(self._copy("cell", name))
        self._stack.callback(database.close)
        self.cells[name] = database
        self.numbers[name], self.uuids[name] = self.api.map_cell(
            name, database.url, **values
        )
        return database

    def feed(self, **options: Any) -> Feed:
        """A feed that runs."""
        found = self.idle_feed(**options)
        found.start()
        return found

    def idle_feed(self, books: Gantt | None = None, **options: Any) -> Feed:
        """A feed that was not started; ``stop`` is called in the end."""
        chosen = FeedOptions(**{"api_url": self.api.url} | OPTIONS | options)
        found = Feed(chosen, books or self.books)
        self._stack.callback(found.stop)
        return found

    def _copy(self, kind: str, name: str = "") -> str:
        path = self._folder / f"{kind}{name}.db"
        shutil.copy(self._schema / f"{kind}.db", path)
        return f"sqlite:///{path}"


@pytest.fixture
def cloud(tmp_path: Path, schema: Path) -> Iterator[Cloud]:
    with ExitStack() as stack:
        yield Cloud(tmp_path, schema, stack)
