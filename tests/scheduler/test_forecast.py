"""How long room lasts, from how use grew before."""

from __future__ import annotations

import numpy as np
import pytest

from gantt.scheduler.capacity.forecast import LEAST, Passage, passage

HORIZON = 100


def dates(history: list[float], room: float, horizon: int = HORIZON) -> Passage:
    found = passage(np.array(history)[:, None], np.array([room]), horizon)
    assert found is not None
    return found


def test_steady_growth_runs_out_when_it_has_grown_by_so_much() -> None:
    found = dates([float(one) for one in range(400)], 40.0)
    assert found.steps == (40, 40, 40)
    assert (found.chance, found.horizon) == (1.0, HORIZON)


def test_what_does_not_grow_does_not_run_out() -> None:
    for history in ([5.0] * 400, [float(one % 7) for one in range(400)]):
        found = dates(history, 20.0)
        assert (found.steps, found.chance) == ((None, None, None), 0.0)


def test_growth_is_measured_in_what_it_was_before() -> None:
    """Ten times as fast as in the past lasts a tenth as long."""
    slow = [float(one) for one in range(400)]
    fast = [slow[-1] + 10.0 * (one + 1) for one in range(HORIZON)]
    assert dates(slow + fast, 400.0).steps[1] == 40


def test_a_horizon_is_no_longer_than_half_of_the_history() -> None:
    found = dates([float(one) for one in range(101)], 30.0, 1000)
    assert (found.horizon, found.steps) == (50, (30, 30, 30))
    assert dates([float(one) for one in range(101)], 60.0, 1000).steps == (None,) * 3


def test_the_class_that_is_used_up_first_counts() -> None:
    each = np.arange(400.0)
    found = passage(np.stack([each, 2 * each], axis=1), np.array([60.0, 40.0]), 100)
    assert found is not None and found.steps == (20, 20, 20)


@pytest.mark.parametrize("length", [0, 1, LEAST - 1])
def test_too_little_history(length: int) -> None:
    assert passage(np.zeros((length, 1)), np.ones(1), HORIZON) is None


def test_chances_are_those_of_a_random_walk() -> None:
    """Of 200 walks of which the history is known: how often room lasted until the date
    that was told with a chance of 90 %."""
    rng = np.random.default_rng(7)
    lasted = []
    for _ in range(200):
        walk = np.cumsum(rng.normal(0.1, 1.0, 700))
        first, *_ = dates(walk[:600].tolist(), 8.0).steps
        after = np.flatnonzero(walk[600:] - walk[599] >= 8.0)
        actual = int(after[0]) + 1 if len(after) else HORIZON + 1
        lasted.append(actual >= (HORIZON + 1 if first is None else first))
    assert 0.85 <= np.mean(lasted) <= 0.97
