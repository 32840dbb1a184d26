"""Marks: two decisions have the same only if all hosts to try, their weights, and the
claims on the first of them are the same."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from gantt.model.answers import Candidate
from gantt.scheduler.selection.marks import bits_of, marks_of
from gantt.scheduler.selection.select import Pick

WEIGHTS = np.array([1.5, -2.0, 0.0], "<f8").tobytes()


def candidate(provider: str, amount: int = 1) -> Candidate:
    return Candidate({provider: {"VCPU": amount}}, {"": (provider,)})


def picks(*given: tuple[int, Candidate]) -> list[list[Pick]]:
    """Two for the first instance, one for the second."""
    each = [Pick(row, 10 + row, one) for row, one in given]
    return [each[:2], each[2:]]


SAME = [(0, candidate("a")), (1, candidate("b")), (2, candidate("c"))]


def test_the_first_host_of_each_instance_with_the_bits_of_its_weight() -> None:
    marks = marks_of(WEIGHTS, picks(*SAME), 3)
    bits = np.frombuffer(WEIGHTS, np.int64).tolist()
    assert marks.firsts == ((10, bits[0]), (12, bits[2]))
    assert marks.feasible == 3
    assert marks == marks_of(WEIGHTS, picks(*SAME), 3)


@pytest.mark.parametrize(
    ("weights", "given"),
    [
        (np.array([1.5, -2.1, 0.0]), SAME),
        (np.array([1.5, -2.0, -0.0]), SAME),
        (np.array([1.5, -2.0, 0.0]), [SAME[0], (3, candidate("b")), SAME[2]]),
        (np.array([1.5, -2.0, 0.0]), [*SAME[:2], (2, candidate("c", 2))]),
        (np.array([1.5, -2.0, 0.0]), [(0, candidate("d")), *SAME[1:]]),
    ],
    ids=["weight", "sign of zero", "host", "amount", "provider"],
)
def test_any_other_choice_gives_another_digest(
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
    given: list[tuple[int, Candidate]],
) -> None:
    marks = marks_of(WEIGHTS, picks(*SAME), 3)
    assert marks_of(weights.tobytes(), picks(*given), 3).choices != marks.choices


def test_the_order_in_which_a_candidate_lists_its_classes_does_not_matter() -> None:
    one = Candidate({"a": {"VCPU": 1, "DISK_GB": 2}}, {})
    other = Candidate({"a": {"DISK_GB": 2, "VCPU": 1}}, {})
    digests = {
        marks_of(WEIGHTS[:8], [[Pick(0, 1, each)]], 1).choices for each in (one, other)
    }
    assert len(digests) == 1


def feasible(rows: list[int], weights: list[float]) -> Any:
    """Hosts at these rows, of which nothing else is asked."""
    hosts = mock.Mock(rows=np.array(rows, np.int64))
    return mock.Mock(hosts=hosts, weights=np.array(weights))


def test_the_weight_of_each_pick_is_found_by_its_row() -> None:
    found = feasible([2, 5, 9], [0.25, 1.5, -3.0])
    mine = [[Pick(row, row, candidate("a")) for row in (9, 2)]]
    bits = bits_of(found, mine, ascends=True)
    assert np.frombuffer(bits, "<f8").tolist() == [-3.0, 0.25]


def test_also_where_a_driver_of_another_package_chose_the_order() -> None:
    found = feasible([9, 2, 5], [-3.0, 0.25, 1.5])
    mine = [[Pick(row, row, candidate("a")) for row in (5, 9)]]
    bits = bits_of(found, mine, ascends=False)
    assert np.frombuffer(bits, "<f8").tolist() == [1.5, -3.0]
