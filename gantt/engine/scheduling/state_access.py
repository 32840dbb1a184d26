"""What parts of the engine whose methods read and write the State have in common."""

from __future__ import annotations

from msgspec import Struct

from gantt.engine.clock import Clock
from gantt.engine.commit.committer import Committer
from gantt.engine.reading.reader import Reader
from gantt.engine.scheduling.argument_checks import Checks


class StateAccess(Struct, frozen=True):
    """The two ways to the State, and by what arguments and times are judged."""

    reader: Reader
    committer: Committer
    checks: Checks
    clock: Clock


class StateMethods:
    """Methods of the library over the State."""

    def __init__(self, state: StateAccess) -> None:
        self._reader = state.reader
        self._committer = state.committer
        self._checks = state.checks
        self._clock = state.clock
