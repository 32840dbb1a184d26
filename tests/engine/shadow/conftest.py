"""A process with two hosts that looks for claims as often as tests can use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.shadow import settler
from tests.engine.shadow.observed import opened
from tests.engine.test_scheduling import report


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for claims as often as tests can use."""
    monkeypatch.setattr(settler, "PERIOD_S", 0.01)


@pytest.fixture
def engine() -> Iterator[Gantt]:
    with opened("memory://") as found:
        yield found


@pytest.fixture
def two(engine: Gantt) -> Gantt:
    """With two hosts, of which Gantt prefers the first."""
    report(engine, "big", memory_mb=16384)
    report(engine, "small")
    return engine
