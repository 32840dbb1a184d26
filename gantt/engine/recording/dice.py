"""Random numbers of one decision, from a seed that can be kept.

Apart from ``random.Random`` because seeding it costs microseconds, and most decisions
draw none.
"""

from __future__ import annotations

import random


class SeededDice:
    """Random numbers: the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random: random.Random | None = None

    def _made(self) -> random.Random:
        if self._random is None:
            self._random = random.Random(self.seed)  # noqa: S311 - to be repeated
        return self._random

    def randrange(self, stop: int, /) -> int:
        """A number from 0 below ``stop``."""
        return self._made().randrange(stop)

    def shuffle(self, places: list[int], /) -> None:
        """Any order, in place."""
        self._made().shuffle(places)
