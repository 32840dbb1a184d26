"""Who is whose ancestor, for ``same_subtree``: bit arithmetic over a few rows.

One provider of each set must be ancestor of all the others. Judged for a part of the
set already, so that a walk goes back before it has placed the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gantt.state.column import NO_ROW
from gantt.state.state import State


class Kinship:
    """Ancestors and descendants among ``rows``, as integers with a bit per row."""

    def __init__(self, state: State, rows: Sequence[int]) -> None:
        parents = state.providers.parent
        self._bit = {row: 1 << place for place, row in enumerate(rows)}
        self._above: dict[int, int] = {}
        self._below = dict.fromkeys(rows, 0)
        for row in rows:
            above, current = 0, row
            while current != NO_ROW:
                if current in self._bit:
                    above |= self._bit[current]
                    self._below[current] |= self._bit[row]
                current = int(parents[current])
            self._above[row] = above
        self._row_of = {bit: row for row, bit in self._bit.items()}

    def bits(self, rows: Iterable[int]) -> int:
        """``rows`` as bits."""
        return sum(self._bit[row] for row in set(rows))

    def place(self, row: int) -> tuple[int, int]:
        """Equal for rows that have the same ancestors and no descendants."""
        bit = self._bit[row]
        if self._below[row] != bit:
            return (self._above[row], bit)
        return (self._above[row] & ~bit, 0)

    def can_hold(self, placed: Sequence[int], waiting: Sequence[int]) -> bool:
        """Whether one provider may yet be ancestor of all.

        ``placed``: rows; ``waiting``: for each need without a provider, its pool as
        bits.
        """
        tops = -1
        offered = self.bits(placed)
        for row in placed:
            tops &= self._above[row]
        for pool in waiting:
            offered |= pool
        tops &= offered
        while tops:
            bit = tops & -tops
            below = self._below[self._row_of[bit]]
            if all(pool & below for pool in waiting):
                return True
            tops ^= bit
        return False
