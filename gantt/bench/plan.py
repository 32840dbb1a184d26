"""Which comparisons are made: short in a few minutes, full in an hour or two.

Where a peer needs seconds for a request, few are made, of all sides alike; those that
need less are measured once more among themselves, with many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gantt.bench.comparing import Comparison
from gantt.bench.sides import SIDES

ALL: Final = tuple(SIDES)
QUICK: Final = ("gantt", "gantt-durable", "gantt-api", "plain")
_MOST_SLOW_HOSTS: Final = 10_000
"""Beyond it one search by upstream Placement takes longer than a whole comparison."""
_SIZES: Final = (1_000, 10_000, 100_000)
_FLAT: Final = ("stream", "burst", "multi-create", "anti-affinity", "churn")
_LIMIT_S: Final = 15.0
_FULL_LIMIT_S: Final = 180.0


def short() -> tuple[Comparison, ...]:
    """What ``make bench`` measures."""
    one, ten = 1_000, 10_000
    no_books = ("gantt", "gantt-durable", "plain", "nova")
    return (
        Comparison("flat", one, "stream", ALL, 3, 5, limit_s=_LIMIT_S),
        Comparison("flat", one, "multi-create", no_books, 1, 4, limit_s=_LIMIT_S),
        Comparison("flat", one, "anti-affinity", no_books, 4, 4, limit_s=_LIMIT_S),
        Comparison("flat", one, "churn", (*QUICK, "placement"), 4, 4, limit_s=_LIMIT_S),
        Comparison("shared", one, "stream", ALL, 2, 4, limit_s=_LIMIT_S),
        Comparison("nested", one, "pinned", ALL, 1, 3, limit_s=_LIMIT_S),
        Comparison("flat", ten, "stream", ALL, 1, 3, is_mixed=True, limit_s=_LIMIT_S),
        Comparison("flat", ten, "burst", QUICK, 160, 5, limit_s=_LIMIT_S),
        Comparison("flat", ten, "anti-affinity", QUICK, 40, 5, limit_s=_LIMIT_S),
        Comparison("flat", ten, "churn", QUICK, 40, 5, limit_s=_LIMIT_S),
    )


def full(sizes: Sequence[int] = _SIZES) -> tuple[Comparison, ...]:
    """Every shape, uniform and mixed, with every workload that it can be asked."""
    return tuple(
        one
        for size in sizes
        for shape in ("flat", "nested", "shared")
        for is_mixed in (False, True)
        for workload in _workloads(shape, is_mixed=is_mixed)
        for one in both(shape, size, workload, is_mixed=is_mixed)
    )


def both(
    shape: str, size: int, workload: str, *, is_mixed: bool
) -> Iterator[Comparison]:
    """All sides with few requests, and the quick ones with many."""
    few = max(1, 4_000 // size)
    if workload == "multi-create":
        few = 1
    slow = ALL if size <= _MOST_SLOW_HOSTS else (*QUICK, "nova")
    if shape == "nested" and size > _MOST_SLOW_HOSTS:
        slow = QUICK
    for sides, count, rounds in ((slow, few, 5), (QUICK, 10 * few + 100, 7)):
        if sides != QUICK or workload != "multi-create" or slow == QUICK:
            yield Comparison(
                *(shape, size, workload, sides, count, rounds),
                is_mixed=is_mixed,
                limit_s=_FULL_LIMIT_S,
            )


def _workloads(shape: str, *, is_mixed: bool) -> tuple[str, ...]:
    if shape == "nested":
        return ("stream", "pinned")
    return _FLAT if shape == "flat" or not is_mixed else ("stream", "churn")
