"""Books that agents report to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt


@pytest.fixture
def books() -> Iterator[Gantt]:
    """New ones in memory."""
    with open_gantt("memory://") as found:
        yield found
