"""Fair splits of random fleets, predicted and then launched.

Every fleet is split, and the plan is carried out instance by instance: decided by the
cycle, claimed by the committer's rule, on a State in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.launching import launch, place
from bench.random_fleets import Case, case
from bench.report import Row, say
from gantt.scheduler.capacity.fair import Planned, divide
from gantt.scheduler.capacity.split import feasible_of
from gantt.scheduler.capacity.taken import Together
from gantt.scheduler.feasibility.candidates import BOOK_SOURCE

FLEETS, LEAST = 1000, 0.99


class Outcome(Struct, frozen=True):
    """By flavor: what was predicted, and launched; ``one_more``: whether another could
    be launched afterwards."""

    predicted: tuple[int, ...]
    launched: tuple[int, ...]
    one_more: tuple[bool, ...]

    @property
    def is_equal(self) -> bool:
        """Whether exactly as many were launched, and not one more could be."""
        return self.predicted == self.launched and not any(self.one_more)


def planned(one: Case) -> tuple[Planned, ...]:
    """What fits, in an order in which it can be launched."""
    state, now = one.books.state, one.books.now
    sources = [BOOK_SOURCE] * len(one.specs)
    feasible = feasible_of(state, one.specs, sources, one.driver, now=now)
    return divide(state, feasible, one.weights, one.driver, Together(state)).plan


def carried_out(one: Case) -> Outcome:
    """Predict, launch, and try one more of each."""
    books, plan = one.books, planned(one)
    predicted = [0] * len(one.specs)
    for step in plan:
        predicted[step.flavor] += step.count
    launched = launch(books, one.specs, plan, one.driver)
    more = [
        bool(place(books, spec, [f"more/{number}"], one.driver))
        for number, spec in enumerate(one.specs)
    ]
    return Outcome(tuple(predicted), tuple(launched), tuple(more))


def measure(folder: Path, scale: float) -> Iterator[Row]:  # noqa: ARG001
    """All rows of this suite."""
    fleets = max(1, int(FLEETS * scale))
    say(f"fair: {fleets:,} random fleets ...")
    outcomes = [carried_out(case(seed)) for seed in range(fleets)]
    equal = sum(one.is_equal for one in outcomes)
    instances = sum(sum(one.launched) for one in outcomes)
    yield Row(
        f"{fleets:,} random fleets, {instances:,} instances: fair splits that could be "
        "launched exactly, and nothing more after",
        f"≥ {LEAST:.0%}",
        f"{equal / fleets:.1%}",
        is_met=equal >= LEAST * fleets,
    )
