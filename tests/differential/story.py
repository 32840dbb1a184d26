"""A story: a world, then questions and writes in turns. One seed makes one story."""

from __future__ import annotations

from collections import Counter
from random import Random

from msgspec import Struct, field

from tests.differential import queries, worlds, writes
from tests.differential.pair import LATEST, Pair
from tests.differential.sketch import Sketch, Wish
from tests.differential.step import Step

ROUNDS = 3
QUESTIONS = 9
WRITES = 9


class Tally(Struct):
    """What was compared; ``met``: known differences by name."""

    queries: int = 0
    writes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)


class Story(Struct):
    """All steps so far, as they were before generations were filled in."""

    steps: list[Step] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def tell(self, both: Pair, seed: int) -> None:
        """Raises Differs."""
        sketch = Sketch(Random(seed))
        both.met = self.tally.met
        for wish in worlds.world(sketch):
            self._grant(both, wish)
        for _ in range(ROUNDS):
            for _ in range(QUESTIONS):
                self._do(both, queries.candidates(sketch))
            self._do(both, queries.other(sketch))
            for _ in range(WRITES):
                self._grant(both, writes.write(sketch))
        self.tally.queries += both.compare_books(LATEST)
        self.tally.queries += both.compare_books(sketch.one(range(LATEST)))

    def _grant(self, both: Pair, wish: Wish) -> None:
        if self._do(both, wish.step) < 400:
            wish.then()

    def _do(self, both: Pair, step: Step) -> int:
        self.steps.append(step)
        status = both.send(both.settle(step)).status
        if step.is_write:
            self.tally.writes += 1
        else:
            self.tally.queries += 1
        self.tally.statuses[f"{step.method} {status}"] += 1
        return status
