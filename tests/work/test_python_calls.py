"""How many Python functions a write and a report call, in all threads of an engine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.opening import open_gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import Inventory
from gantt.model.hosts import HostStats
from gantt.store import StoreOptions

RUNS = 20


class Counter:
    """Counts calls in every thread that is started while it is installed, and in the
    one that installs it."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        self.count += event == "call"

    def of(self, action: Callable[[int], object]) -> float:
        """The median of calls of ``action``, which is called with 0, 1, 2, …"""
        found = []
        for number in range(RUNS + 5):
            before = self.count
            action(number)
            found.append(self.count - before)
        return median(found[5:])


@pytest.fixture
def counter() -> Iterator[Counter]:
    counter = Counter()
    threading.setprofile(counter.note)
    sys.setprofile(counter.note)
    yield counter
    sys.setprofile(None)
    threading.setprofile(None)


@pytest.fixture
def engine(counter: Counter, tmp_path: Path) -> Iterator[Gantt]:
    # No leader tasks: what they call would be counted too.
    options = EngineOptions(sweep_s=600, store=StoreOptions(create=True))
    with open_gantt(f"sqlite:///{tmp_path / 'books.db'}", options) as found:
        yield found


def stats(used_mb: int) -> HostStats:
    return HostStats(
        vcpus=8,
        memory_mb=16_384,
        local_gb=100,
        vcpus_used=0,
        memory_mb_used=used_mb,
        local_gb_used=0,
    )


def test_setting_inventories(counter: Counter, engine: Gantt) -> None:
    uuid = engine.create_provider("host").uuid
    calls = counter.of(
        lambda number: engine.set_inventories(
            uuid, {"VCPU": Inventory(8 + number), "MEMORY_MB": Inventory(1024 + number)}
        )
    )
    assert 0 < calls <= 430


def test_a_report_without_news(counter: Counter, engine: Gantt) -> None:
    engine.update_host("host", "node", stats(0))
    said = stats(0)
    calls = counter.of(lambda _: engine.update_host("host", "node", said))
    assert 0 < calls <= 95


def test_a_report_with_news(counter: Counter, engine: Gantt) -> None:
    said = [stats(used_mb) for used_mb in range(RUNS + 5)]
    engine.update_host("host", "node", stats(RUNS + 5))
    calls = counter.of(lambda number: engine.update_host("host", "node", said[number]))
    assert 0 < calls <= 300
