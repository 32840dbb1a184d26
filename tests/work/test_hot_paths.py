"""How many calls each of the hot paths makes, in Python, however many hosts there are.

The paths are those that ``gantt bench --profile`` times: the table of one is compared
with the other, so that none is left without a count. Counted over the threads that a
caller waits for: its own and the committer's.
"""

from __future__ import annotations

import statistics
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gantt.bench.bench_fleets import fleet_of
from gantt.bench.paths import PATHS, acts, opened
from tests.work.counting import CallCounter

# Path -> most calls of one request; in books in memory, but for those in DURABLE.
BOUNDS = {
    "select, in memory": 380,
    "select, durable": 445,
    "select into a group, durable": 570,
    "GET /allocation_candidates": 280,
    "PUT /allocations": 226,
    "report, unchanged": 64,
    "report, changed": 163,
    "GET inventories": 82,
    "GET usages": 71,
}
DURABLE = "select, durable"
SIZES = (30, 300)
WARM_UP, TIMES = 6, 8


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[int, dict[str, float]]]:
    """Size of the fleet -> path -> calls."""
    counter = CallCounter()
    threading.setprofile(counter.note)
    sys.setprofile(counter.note)
    try:
        yield {
            size: measured(counter, size, tmp_path_factory.mktemp("books"))
            for size in SIZES
        }
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def measured(counter: CallCounter, size: int, folder: Path) -> dict[str, float]:
    others = [path for path in BOUNDS if path != DURABLE]
    return calls_of(counter, size, "memory://", others) | calls_of(
        counter, size, f"sqlite:///{folder / 'books.db'}", [DURABLE]
    )


def calls_of(
    counter: CallCounter, size: int, url: str, paths: Iterable[str]
) -> dict[str, float]:
    calls = {}
    fleet = fleet_of("flat", size, is_mixed=False)
    with opened(url, fleet, lambda *_: None) as books:
        counter.watch()
        made = acts(books, fleet)
        for path in paths:
            each = []
            for number in range(WARM_UP + TIMES):
                with counter:
                    made[path](number)
                each.append(counter.calls)
            calls[path] = statistics.median(each[WARM_UP:])
    return calls


def test_every_hot_path_has_a_bound() -> None:
    assert BOUNDS.keys() == set(PATHS)


@pytest.mark.parametrize("path", BOUNDS)
def test_calls(found: dict[int, dict[str, float]], path: str) -> None:
    small, large = (found[size][path] for size in SIZES)
    assert 10 < small <= BOUNDS[path]
    assert large <= small * 1.1, "work grows with the fleet"
