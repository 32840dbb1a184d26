"""A story: a world, then questions and writes in turns. Told, retold and shortened.

One seed makes one story. When the services disagree, steps are taken out for as long
as they still do; what is left is short enough for a transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from random import Random

from msgspec import Struct, field

from gantt.conf import Settings
from tests.differential import queries, worlds, writes
from tests.differential.compare import Differs
from tests.differential.pair import LATEST, Pair, pair
from tests.differential.sketch import Sketch, Wish
from tests.differential.step import Step
from tests.differential.upstream import upstream

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


def retell(settings: Settings, steps: Sequence[Step]) -> tuple[list[Step], str] | None:
    """The settled steps up to a difference, and it; None when there is none."""
    told: list[Step] = []
    with pair(settings, upstream()) as both:
        try:
            for step in steps:
                settled = both.settle(step)
                told.append(settled)
                both.send(settled)
            both.compare_books(LATEST)
        except Differs as difference:
            return told, str(difference)
    return None


def shorten(settings: Settings, steps: list[Step]) -> list[Step]:
    """Steps that still make the services differ: none of them can be left out."""
    size = len(steps) // 2
    while size:
        start = 0
        while start < len(steps):
            shorter = steps[:start] + steps[start + size :]
            found = None
            with suppress(KeyError, TypeError):
                found = retell(settings, shorter)
            if found:
                steps = shorter[: len(found[0])]
            else:
                start += size
        size //= 2
    return steps
