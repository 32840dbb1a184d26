"""The best places stay the best, however weights move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.scoring import host_weights
from gantt.scheduler.scoring.host_weights import BestHosts
from gantt.state.column import Floats, Int64s

WEIGHTS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])


@given(
    st.lists(WEIGHTS, min_size=1, max_size=30),
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(0, 29), WEIGHTS), max_size=30),
)
def test_ranking_equals_a_stable_sort(
    weights: list[float], count: int, moves: list[tuple[int, float]]
) -> None:
    array = np.array(weights)
    kept = BestHosts(array, count)
    for place, weight in [(0, weights[0]), *moves]:
        place %= len(weights)
        array[place] = weights[place] = weight
        kept.move(np.array([place]))
        order = sorted(range(len(weights)), key=lambda one: -weights[one])
        assert kept.best().tolist() == order[:count]


def test_change_does_not_rank_all_hosts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    best = host_weights.best

    def counting(weights: Floats, count: int) -> Int64s:
        looked.append(count)
        return best(weights, count)

    monkeypatch.setattr(host_weights, "best", counting)
    array = np.arange(1000.0)
    kept = BestHosts(array, 10)
    for place in range(999, 990, -1):
        array[place] = -1.0
        kept.move(np.array([place]))
        kept.best()
    assert len(looked) == 1
