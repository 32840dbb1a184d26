"""VCPU: the processors that this process may run on."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from msgspec import Struct

from gantt.agent.collectors.contract import Part, amounts


def usable_processors() -> Collection[int]:
    """Numbers of the processors that the system lets this process use."""
    return os.sched_getaffinity(0)


class CpuCollector(Struct, frozen=True):
    """Counts hardware threads, as Nova counts VCPU."""

    processors: Callable[[], Collection[int]] = usable_processors

    @property
    def provides(self) -> frozenset[str]:
        """The class this collector owns."""
        return frozenset({"VCPU"})

    def collect(self) -> Part:
        """One VCPU for each usable processor."""
        return amounts("VCPU", len(self.processors()))
