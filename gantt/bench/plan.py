"""Which comparisons are made: short in a few minutes, full in an hour.

Where a peer needs seconds for a request, few are made, of all sides alike; those that
need less are measured once more among themselves, with many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gantt.bench.comparison import Comparison
from gantt.bench.sides import SIDES

ALL: Final = tuple(SIDES)
QUICK: Final = ("gantt", "gantt-durable", "gantt-api", "plain")
_SIZES: Final = (1_000, 10_000, 100_000)
_FLAT: Final = ("stream", "burst", "multi-create", "anti-affinity", "churn")
_LIMIT_S: Final = 15.0
_APART: Final = "asked less, in a comparison with all sides"
_SLOW: Final = "needs too long for a request on so many hosts"
_MOST_ASKED: Final = 20
_FEW: Final = 1_000
_MANY: Final = 10_000


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
    """Every shape, uniform and mixed, with every workload that it can be asked; less
    of it on the largest fleets."""
    return tuple(
        one
        for size in sizes
        for shape in ("flat", "nested", "shared")
        for is_mixed in (False, True)
        for workload in _workloads(shape, size, is_mixed=is_mixed)
        for one in both(
            shape,
            size,
            workload,
            is_mixed=is_mixed,
            has_all=_has_all(shape, size, workload, is_mixed=is_mixed),
        )
    )


def both(
    shape: str, size: int, workload: str, *, is_mixed: bool, has_all: bool = True
) -> Iterator[Comparison]:
    """All sides with few requests, where ``has_all``, and the quick ones with many. A
    side that cannot be asked is named by ``why_not``, not left out here."""
    is_many_at_once = workload == "multi-create"
    few = 1 if is_many_at_once else min(_MOST_ASKED, max(1, 4_000 // size))
    many = few if is_many_at_once else few + (100 if size <= _MANY else 20)
    plans = [(ALL, few, 5)] if has_all else []
    if not (has_all and is_many_at_once):
        plans.append((QUICK, many, 7))
    for sides, count, rounds in plans:
        yield Comparison(
            shape,
            size,
            workload,
            sides,
            count,
            rounds,
            is_mixed=is_mixed,
            limit_s=_LIMIT_S,
            absent=_APART if has_all else _SLOW,
        )


def _workloads(shape: str, size: int, *, is_mixed: bool) -> tuple[str, ...]:
    if size > _MANY and (is_mixed or shape == "shared"):
        return ("stream",) if (shape == "flat") == is_mixed else ()
    if shape == "nested":
        return ("stream", "pinned")
    return _FLAT if shape == "flat" or not is_mixed else ("stream", "churn")


def _has_all(shape: str, size: int, workload: str, *, is_mixed: bool) -> bool:
    """Whether sides that need seconds for a request take part: on the largest fleets
    for one workload, on large ones where all hosts are alike."""
    if size > _MANY:
        return (shape, workload, is_mixed) == ("flat", "stream", False)
    return size <= _FEW or not is_mixed
