"""Which hosts changed, for as long as a bounded memory reaches.

Apart from the fleet because what keeps decisions asks nothing else of it: what changed
since it last looked costs what changed, not what there is.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

LENGTH = 4096


class Changed(NamedTuple):
    """Rows of hosts. ``is_use``: nothing of them changed but the columns ``hosts.USE``
    and what is said of their providers."""

    rows: set[int]
    is_use: bool


class Journal:
    """The last ``length`` marks, oldest first."""

    def __init__(self, length: int = LENGTH) -> None:
        self._marks: deque[tuple[int, int, bool]] = deque(maxlen=length)
        self._forgotten = 0

    def mark(self, row: int, stamp: int, *, is_use: bool = False) -> None:
        """The host at ``row`` changed; ``stamp`` never falls."""
        marks = self._marks
        if len(marks) == marks.maxlen:
            self._forgotten = marks[0][0]
        marks.append((stamp, row, is_use))

    def since(self, stamp: int) -> Changed | None:
        """What changed after ``stamp``; None: that is too long ago to tell."""
        if stamp < self._forgotten:
            return None
        rows: set[int] = set()
        is_use = True
        for at, row, is_of_use in reversed(self._marks):
            if at <= stamp:
                break
            rows.add(row)
            is_use &= is_of_use
        return Changed(rows, is_use)
