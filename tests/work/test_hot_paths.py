"""How many calls each of the hot paths makes, in Python, however many hosts there are.

The paths are those that ``gantt bench --profile`` times: the table of one is compared
with the other, so that none is left without a count. Counted over the threads that a
caller waits for: its own and the committer's.
"""

from __future__ import annotations

import statistics
import sys
import threading
from collections.abc import Iterator

import pytest

from gantt.bench.fleets import fleet_of
from gantt.bench.paths import PATHS, acts, opened
from tests.work.counting import CallCounter

# Path -> most calls of one request, in books in memory.
BOUNDS = {
    "select, in memory": 380,
    "select into a group, durable": 570,
    "GET /allocation_candidates": 345,
    "PUT /allocations": 220,
    "report, unchanged": 64,
    "report, changed": 163,
    "GET inventories": 82,
    "GET usages": 71,
}
SIZES = (30, 300)
WARM_UP, TIMES = 6, 8


@pytest.fixture(scope="module")
def found() -> Iterator[dict[int, dict[str, float]]]:
    """Size of the fleet -> path -> calls."""
    counter = CallCounter()
    threading.setprofile(counter.note)
    sys.setprofile(counter.note)
    try:
        yield {size: measured(counter, size) for size in SIZES}
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def measured(counter: CallCounter, size: int) -> dict[str, float]:
    calls = {}
    fleet = fleet_of("flat", size, is_mixed=False)
    with opened("memory://", fleet, lambda *_: None) as books:
        counter.watch()
        made = acts(books, fleet)
        for path in BOUNDS:
            each = []
            for number in range(WARM_UP + TIMES):
                with counter:
                    made[path](number)
                each.append(counter.calls)
            calls[path] = statistics.median(each[WARM_UP:])
    return calls


def test_every_hot_path_has_a_bound() -> None:
    # In memory and durable, a selection takes the same way up to the store, whose
    # statements are counted in test_statements.py.
    assert BOUNDS.keys() == set(PATHS) - {"select, durable"}


@pytest.mark.parametrize("path", BOUNDS)
def test_calls(found: dict[int, dict[str, float]], path: str) -> None:
    small, large = (found[size][path] for size in SIZES)
    assert 10 < small <= BOUNDS[path]
    assert large <= small * 1.1, "work grows with the fleet"
