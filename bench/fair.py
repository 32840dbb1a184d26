"""Fair splits of random fleets, predicted and then launched, and the price of rules.

Every fleet is split, and the plan is carried out instance by instance: decided by the
cycle, claimed by the committer's rule, on a State in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from msgspec import Struct

from bench.launching import launch, place
from bench.random_fleets import Case, case
from bench.report import Row, at_most, say
from gantt.model.spec import Flavor, RequestSpec
from gantt.replay.fleet_files import fleet_of
from gantt.replay.machines import build
from gantt.scheduler.capacity.fair import FlavorOnHost, divide
from gantt.scheduler.capacity.price import prices
from gantt.scheduler.capacity.split import FlavorMix, feasible_of
from gantt.scheduler.capacity.taken_room import Together
from gantt.scheduler.feasibility.candidate_sources import BOOK_SOURCE
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of

FLEETS, LEAST = 1000, 0.99
HOSTS, PRICE_S, TIMES = 10_000, 5.0, 5
FAST = "CUSTOM_FAST"


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


def planned(one: Case) -> tuple[FlavorOnHost, ...]:
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


def price_s(hosts: int) -> tuple[float, int]:
    """Seconds of the processor for the price of all rules, and how many these are."""
    words = "vcpus=64,memory_mb=262144,disk_gb=2000,cpu_ratio=2"
    half = hosts // 2
    books = build(
        fleet_of(
            [f"{half}x{words},zone=a", f"{hosts - half}x{words},zone=b,trait={FAST}"]
        )
    )
    filters = (*DEFAULT_FILTERS, "AggregateInstanceExtraSpecsFilter")
    policy = policy_of(SchedulerOptions(enabled_filters=filters))
    asked = {f"aggregate_instance_extra_specs:key{one}": "x" for one in range(91)}
    flavor = Flavor(4, 8192, 20, extra_specs={f"trait:{FAST}": "required", **asked})
    mix = FlavorMix((RequestSpec(flavor, availability_zone="b"),), (1.0,))
    times = []
    for _ in range(TIMES):
        began = time.process_time()
        found = prices(books.state, mix, BOOK_SOURCE, policy, now=books.now)
        times.append(time.process_time() - began)
    return median(times), len(found.prices)


def measure(folder: Path, scale: float) -> Iterator[Row]:  # noqa: ARG001
    """All rows of this suite."""
    fleets = max(1, int(FLEETS * scale))
    say(f"fair: {fleets:,} random fleets ...")
    outcomes = [carried_out(case(seed)) for seed in range(fleets)]
    equal = sum(one.is_equal for one in outcomes)
    instances = sum(sum(one.launched) for one in outcomes)
    size = int(HOSTS * scale)
    say(f"fair: the price of rules on {size:,} hosts ...")
    seconds, rules = price_s(size)
    what = f"{size:,} hosts: the price of {rules} rules, processor time (median)"
    yield at_most(what, PRICE_S, seconds)
    yield Row(
        f"{fleets:,} random fleets, {instances:,} instances: fair splits that could be "
        "launched exactly, and nothing more after",
        f"≥ {LEAST:.0%}",
        f"{equal / fleets:.1%}",
        is_met=equal >= LEAST * fleets,
    )
