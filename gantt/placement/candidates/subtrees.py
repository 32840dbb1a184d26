"""Ancestors in a tree, for ``same_subtree``: bit arithmetic over a few places.

One provider of each set must be ancestor of all the others. Judged for a part of the
set already, so that a walk goes back before it has placed the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from gantt.state.column import NO_ROW
from gantt.state.state import State


class Kinship(Struct, frozen=True):
    """Per place in a tree its ancestors and its descendants among the places, both
    with itself, as an integer with a bit per place."""

    above: tuple[int, ...]
    below: tuple[int, ...]

    def like(self, place: int) -> tuple[int, int]:
        """Equal for places that have the same ancestors and no descendants."""
        bit = 1 << place
        if self.below[place] != bit:
            return (self.above[place], bit)
        return (self.above[place] & ~bit, 0)

    def can_hold(self, placed: Sequence[int], waiting: Sequence[int]) -> bool:
        """Whether one provider may yet be ancestor of all.

        ``placed``: places; ``waiting``: for each need without a provider, its pool as
        bits.
        """
        tops = -1
        offered = bits(placed)
        for place in placed:
            tops &= self.above[place]
        for pool in waiting:
            offered |= pool
        tops &= offered
        while tops:
            bit = tops & -tops
            below = self.below[bit.bit_length() - 1]
            if all(pool & below for pool in waiting):
                return True
            tops ^= bit
        return False


def kinship_of(state: State, rows: Sequence[int]) -> Kinship:
    """The ancestors of each among ``rows``; a place is one of their indexes."""
    parents = state.providers.parent
    place_of = {row: place for place, row in enumerate(rows)}
    above, below = [0] * len(rows), [0] * len(rows)
    for row, place in place_of.items():
        current = row
        while current != NO_ROW:
            other = place_of.get(current)
            if other is not None:
                above[place] |= 1 << other
                below[other] |= 1 << place
            current = int(parents[current])
    return Kinship(tuple(above), tuple(below))


def bits(places: Iterable[int]) -> int:
    """Different ``places`` as bits, each counted once."""
    found = 0
    for place in places:
        found |= 1 << place
    return found
