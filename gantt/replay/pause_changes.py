"""What was applied while a recorded decision was made, let in where it rested."""

from __future__ import annotations

from collections.abc import Callable

from gantt.model.record import Applied, Line, Paused


class Resting:
    """The pause of a decision. ``take``: takes a line, given where it is;
    ``between``: the lines between the decision's first and last, and where they are."""

    def __init__(
        self, take: Callable[[Line, str], None], between: list[tuple[Line, str]]
    ) -> None:
        self._take = take
        self._calls = 0
        self._due: list[tuple[int, list[tuple[Line, str]]]] = []
        waiting: list[tuple[Line, str]] = []
        for line, where in between:
            if isinstance(line, Paused):
                self._due.append((line.call, waiting))
                waiting = []
            else:
                waiting.append((line, where))
        self._last = waiting

    @property
    def has_more(self) -> bool:
        """Whether something was applied while it did not rest."""
        return any(isinstance(line, Applied) for line, _ in self._last)

    def __call__(self) -> None:
        self._calls += 1
        if self._due and self._due[0][0] == self._calls:
            for line, where in self._due.pop(0)[1]:
                self._take(line, where)

    def end(self) -> None:
        """All that is left."""
        for _, lines in self._due:
            for line, where in lines:
                self._take(line, where)
        for line, where in self._last:
            self._take(line, where)
