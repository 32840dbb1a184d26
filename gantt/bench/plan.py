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
_SIZES: Final = (1_000, 10_000, 100_000)
_FLAT: Final = ("stream", "burst", "multi-create", "anti-affinity", "churn")
_LIMIT_S: Final = 15.0
_FULL_LIMIT_S: Final = 180.0


def short() -> tuple[Comparison, ...]:
    """What ``make bench`` measures."""
    one, ten = 1_000, 10_000
    no_api = ("gantt", "gantt-durable", "plain", "nova")
    return (
        Comparison("flat", one, "stream", ALL, 3, 5, limit_s=_LIMIT_S),
        Comparison("flat", one, "multi-create", no_api, 1, 4, limit_s=_LIMIT_S),
        Comparison("flat", one, "anti-affinity", no_api, 4, 4, limit_s=_LIMIT_S),
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
    """All sides with few requests, and the quick ones with many. A side that cannot be
    asked is named by ``why_not``, not left out here."""
    is_many_at_once = workload == "multi-create"
    few = 1 if is_many_at_once else max(1, 4_000 // size)
    for sides, count, rounds in ((ALL, few, 5), (QUICK, 10 * few + 100, 7)):
        if sides == ALL or not is_many_at_once:
            yield Comparison(
                *(shape, size, workload, sides, count, rounds),
                is_mixed=is_mixed,
                limit_s=_FULL_LIMIT_S,
            )


def _workloads(shape: str, *, is_mixed: bool) -> tuple[str, ...]:
    if shape == "nested":
        return ("stream", "pinned")
    return _FLAT if shape == "flat" or not is_mixed else ("stream", "churn")
