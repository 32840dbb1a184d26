"""Marks: two decisions have the same only if all hosts to try, their weights, and the
claims on the first of them are the same."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from gantt.model.answers import Candidate
from gantt.model.record import Marks
from gantt.scheduler.selection.host_choice import Pick
from gantt.scheduler.selection.marks import marks_of, pack_choices

WEIGHTS = [1.5, -2.0, 0.0]


def candidate(provider: str, amount: int = 1) -> Candidate:
    return Candidate({provider: {"VCPU": amount}}, {"": (provider,)})


def picks(*given: tuple[int, Candidate]) -> list[list[Pick]]:
    """Two for the first instance, the others for the second."""
    each = [Pick(row, 10 + row, one) for row, one in given]
    return [mine for mine in (each[:2], each[2:]) if mine]


def feasible(
    rows: list[int], weights: list[float], order: list[int] | None = None
) -> Any:
    """Hosts at these rows, of which nothing else is asked. ``order``: known places, the
    best first."""
    hosts = mock.Mock(rows=np.array(rows, np.int64))
    known = None if order is None else np.array(order, np.int64)
    return mock.Mock(hosts=hosts, weights=np.array(weights), known_order=known)


def marks(mine: list[list[Pick]], weights: list[float]) -> Marks:
    """Of picks on hosts at rows 0, 1, …, all of them feasible."""
    found = feasible(list(range(len(weights))), weights)
    return marks_of(pack_choices(found, mine, ascends=True), len(weights))


def bits(*weights: float) -> list[int]:
    return [int(one) for one in np.array(weights).view(np.int64)]


SAME = [(0, candidate("a")), (1, candidate("b")), (2, candidate("c"))]


def test_the_first_host_of_each_instance_with_the_bits_of_its_weight() -> None:
    found = marks(picks(*SAME), WEIGHTS)
    first, _, third = bits(*WEIGHTS)
    assert found.firsts == ((10, first), (12, third))
    assert found.feasible == 3
    assert found == marks(picks(*SAME), WEIGHTS)


@pytest.mark.parametrize(
    ("weights", "given"),
    [
        ([1.5, -2.1, 0.0, 0.0], SAME),
        ([1.5, -2.0, -0.0, 0.0], SAME),
        ([1.5, -2.0, 0.0, -2.0], [SAME[0], (3, candidate("b")), SAME[2]]),
        ([1.5, -2.0, 0.0, 0.0], [*SAME[:2], (2, candidate("c", 2))]),
        ([1.5, -2.0, 0.0, 0.0], [(0, candidate("d")), *SAME[1:]]),
    ],
    ids=["weight", "sign of zero", "host", "amount", "provider"],
)
def test_any_other_choice_gives_another_digest(
    weights: list[float], given: list[tuple[int, Candidate]]
) -> None:
    before = marks(picks(*SAME), [*WEIGHTS, 0.0])
    assert marks(picks(*given), weights).choices != before.choices


def test_the_order_in_which_a_candidate_lists_its_classes_does_not_matter() -> None:
    one = Candidate({"a": {"VCPU": 1, "DISK_GB": 2}}, {})
    other = Candidate({"a": {"DISK_GB": 2, "VCPU": 1}}, {})
    digests = {marks(picks((0, each)), [0.0]).choices for each in (one, other)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    "order",
    [None, [2, 0, 1], [0, 1, 2], [2, 0]],
    ids=["no order is known", "in the known order", "in another", "in a longer one"],
)
@pytest.mark.parametrize(
    ("rows", "weights", "ascends"),
    [
        ([2, 5, 9], [0.25, 1.5, -3.0], True),
        ([9, 2, 5], [-3.0, 0.25, 1.5], False),
    ],
    ids=["as they stand", "as a driver of another package chose"],
)
def test_the_weight_of_each_pick_is_found_by_its_row(
    rows: list[int], weights: list[float], order: list[int] | None, *, ascends: bool
) -> None:
    mine = [[Pick(row, row, candidate("a"))] for row in (9, 2, 5)]
    found = feasible(rows, weights, order)
    packed = pack_choices(found, mine, ascends=ascends)
    first, second, third = bits(-3.0, 0.25, 1.5)
    assert marks_of(packed, 3).firsts == ((9, first), (2, second), (5, third))
