"""Two replays of one trace, decision by decision."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest

from msgspec import Struct, field

from gantt.errors import Conflict
from gantt.replay.decision_files import Decisions
from gantt.replay.run import Decided


class Difference(Struct, frozen=True):
    """One arrival that went differently."""

    one: Decided
    other: Decided


class ReplayComparison(Struct):
    """Counts are of arrivals. ``same``: on the same hosts, or refused by both.
    ``reasons``: of those that one side alone refused, by side and reason. ``examples``:
    the first differences."""

    arrivals: int = 0
    same: int = 0
    moved: int = 0
    only_one: int = 0
    only_other: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[Difference] = field(default_factory=list)

    @property
    def is_identical(self) -> bool:
        """Whether not one decision differs."""
        return self.same == self.arrivals


def compare(
    one: Decisions, other: Decisions, most_examples: int = 10
) -> ReplayComparison:
    """Raises Conflict where the two saw different traces or fleets, Invalid for files
    that cannot be read."""
    _check(one, other, "fleet", one.header.fleet, other.header.fleet)
    found = ReplayComparison()
    for left, right in zip_longest(one, other):
        if left is None or right is None:
            continue  # the footers tell how many each saw
        _count(found, left, right, most_examples)
    assert one.footer is not None and other.footer is not None, "read to the end"
    _check(one, other, "trace", one.footer.arrivals, other.footer.arrivals)
    return found


def _check(one: Decisions, other: Decisions, what: str, left: str, right: str) -> None:
    if left != right:
        raise Conflict(
            f"{one.path} and {other.path} are of another {what} each ({left} and "
            f"{right}), so that a comparison would mean nothing. Replay the same "
            "trace, on the same fleet, with each policy."
        )


def _count(found: ReplayComparison, left: Decided, right: Decided, most: int) -> None:
    found.arrivals += 1
    if left.hosts == right.hosts:
        found.same += 1
        return
    if left.hosts and right.hosts:
        found.moved += 1
    elif left.hosts:
        found.only_one += 1
        found.reasons["other", right.reason] += 1
    else:
        found.only_other += 1
        found.reasons["one", left.reason] += 1
    if len(found.examples) < most:
        found.examples.append(Difference(left, right))
