"""One side of a comparison: a program that holds a fleet and places instances on it.

The contract alone, because each side is a module of its own that needs its own
packages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from gantt.bench.bench_fleets import Fact
from gantt.bench.workloads import Ask


class Side(Protocol):
    """``name``: as reports show it. ``is_threaded``: many callers may use it at
    once."""

    name: str
    is_threaded: bool

    def facts(self) -> Iterable[Fact]:
        """What it holds of each host, read from its own tables or objects."""

    def place(self, ask: Ask) -> int:
        """Choose hosts for the instances of ``ask`` and take their amounts; how many
        were placed. What ``ask.leaves`` names goes before."""

    def worked_s(self) -> float:
        """Processor time so far, its other processes included."""

    def close(self) -> None:
        """Stop what it started."""
