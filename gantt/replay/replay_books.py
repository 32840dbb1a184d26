"""The books of a replay: a State, and the rules of the committer, one command a time.

Beside the engine, because there is nothing to share, to store or to wait for: what is
planned is applied.
"""

from __future__ import annotations

from typing import Final, TypeVar

from gantt.model.changes import Cursor
from gantt.model.commands import Command
from gantt.placement.rules import plan
from gantt.state.state import State

A = TypeVar("A")
_BATCH: Final = "replay"


class ReplayBooks:
    """``now``: microseconds since the epoch; a replay moves it on."""

    def __init__(self, now: int, state: State | None = None) -> None:
        self.now = now
        self.state = State() if state is None else state

    def submit(self, command: Command[A]) -> A:
        """Carry out ``command`` and return its answer. Raises the refusal of its rule,
        and then nothing changes."""
        planned = plan(self.state, command, self.now)
        if planned.changes:
            cursor = Cursor(self.state.revision + 1, _BATCH)
            self.state.apply(planned.changes, cursor)
        answer: A = planned.answer
        return answer
