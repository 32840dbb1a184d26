"""Normalising, multiplying, adding and ordering, against a walk in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.errors import Invalid
from gantt.scheduler.contract import Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.scoring import host_weights
from gantt.scheduler.scoring.scale import Scale, total, total_at
from gantt.scheduler.scoring.weighers.build_failure import BuildFailureWeigher
from gantt.scheduler.scoring.weighers.metrics import MetricsWeigher
from gantt.scheduler.scoring.weighers.ram import RAMWeigher
from gantt.state.column import Floats
from tests.scheduler.fleets import (
    Plain,
    a_host,
    all_hosts,
    fleet,
    request,
    weights,
)

NUMBERS = st.integers(-50, 50).map(float)
ENDS = st.none() | st.sampled_from([-10.0, 0.0, 10.0])


def normal(raw: Floats, minval: float | None, maxval: float | None = None) -> Floats:
    found = host_weights.normalise(raw, host_weights.ends(raw, minval, maxval))
    return np.zeros(len(raw)) if found is None else found


def naive_normal(raw: list[float], minval: float | None, maxval: float | None) -> Any:
    if minval is not None:
        raw = [max(one, minval) for one in raw]
    if maxval is not None:
        raw = [min(one, maxval) for one in raw]
    low = min(raw) if minval is None else minval
    high = max(raw) if maxval is None else maxval
    if low == high:
        return [0.0] * len(raw)
    return [(one - low) / (high - low) for one in raw]


@pytest.mark.parametrize(
    ("raw", "minval", "expected"),
    [
        ([50, 100], None, [0.0, 1.0]),
        ([50, 100], 0.0, [0.5, 1.0]),
        ([-50, 100], 0.0, [0.0, 1.0]),
        ([-50, -10], 0.0, [0.0, 0.0]),
        ([7, 7], None, [0.0, 0.0]),
        # Equal, but not at the end that is fixed.
        ([7, 7], 0.0, [1.0, 1.0]),
        ([], 0.0, []),
    ],
)
def test_normalise(raw: list[float], minval: float | None, expected: Any) -> None:
    given_raw = np.array(raw, np.float64)
    assert normal(given_raw, minval).tolist() == expected
    assert given_raw.tolist() == raw, "raw scores are kept"


@given(st.lists(NUMBERS, min_size=1), ENDS, st.none() | st.sampled_from([10.0, 20.0]))
def test_normalise_equals_a_plain_loop(
    raw: list[float], minval: float | None, maxval: float | None
) -> None:
    found = normal(np.array(raw), minval, maxval)
    assert found.tolist() == naive_normal(raw, minval, maxval)


@given(st.data(), st.integers(2, 6))
def test_weights_equal_a_plain_loop_after_changes(data: st.DataObject, n: int) -> None:
    column = st.lists(NUMBERS, min_size=n, max_size=n).map(np.array)
    factors = st.sampled_from([1.0, -1.0, 2.5, -1e6]) | column
    chosen = data.draw(st.lists(st.tuples(column, factors, st.booleans())))
    scales = [
        Scale(RAMWeigher() if is_fixed else _Any(), raw.copy(), factor)
        for raw, factor, is_fixed in chosen
    ]
    weights = total(scales, n)
    assert weights.tolist() == naive_weights(scales, n)
    for _ in range(data.draw(st.integers(0, 3))):
        at = np.array([data.draw(st.integers(0, n - 1))])
        is_moved = False
        for scale in scales:
            is_moved |= scale.change(at, np.array([data.draw(NUMBERS)]))
        # As a driver does: all weights where a scale moved, else those that changed.
        if is_moved:
            weights = total(scales, n)
        else:
            weights[at] = total_at(scales, at)
        assert weights.tolist() == naive_weights(scales, n)


def naive_weights(scales: list[Scale], n: int) -> list[float]:
    found = [0.0] * n
    for scale in scales:
        each = np.broadcast_to(scale.factor, n).tolist()
        scores = naive_normal(scale.raw.tolist(), scale.weigher.minval, None)
        found = [
            sum_ + by * score
            for sum_, by, score in zip(found, each, scores, strict=True)
        ]
    return found


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=12), st.integers(0, 14)
)
def test_best_equal_a_stable_sort(weights: list[float], k: int) -> None:
    order = sorted(range(len(weights)), key=lambda place: -weights[place])
    assert host_weights.best(np.array(weights), k).tolist() == order[:k]


class _Any(Weigher):
    """Any weigher without fixed ends or options."""

    def score(self, hosts: Hosts, request: Request) -> Floats:
        return np.arange(len(hosts), dtype=np.float64)


class _Own(_Any):
    option = "ram_weight_multiplier"

    def multiplier(self, hosts: Hosts, options: SchedulerOptions) -> float:
        return 9.0


def _hosts(*metadata: dict[str, str], members: str = "h2") -> Hosts:
    hosts: list[Plain] = [a_host("h1", free_ram_mb=10), a_host("h2", free_ram_mb=20)]
    aggregates = [
        {"uuid": f"a{number}", "hosts": [members], "metadata": one}
        for number, one in enumerate(metadata)
    ]
    return all_hosts(fleet(hosts, aggregates))


KEY = "ram_weight_multiplier"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ([], 3.0),
        ([{"other": "2"}], 3.0),
        ([{KEY: "2"}], [3.0, 2.0]),
        ([{KEY: "2"}, {KEY: "-1.5"}], [3.0, -1.5]),
        # One that is no number voids the others.
        ([{KEY: "2"}, {KEY: "lots"}], [3.0, 3.0]),
        ([{KEY: "nan"}], [3.0, 3.0]),
        ([{KEY: "inf"}], [3.0, 3.0]),
        ([{KEY: " 4 "}], [3.0, 4.0]),
    ],
)
def test_multipliers(metadata: list[dict[str, str]], expected: Any) -> None:
    hosts = _hosts(*metadata)
    options = request(multipliers={KEY: 3.0}).options
    found = host_weights.multipliers(hosts, RAMWeigher(), options)
    assert (found if isinstance(found, float) else found.tolist()) == expected


def test_multiplier_may_be_negative_or_per_weigher() -> None:
    hosts, options = _hosts({"build_failure_weight_multiplier": "5"}), request().options
    found = host_weights.multipliers(hosts, BuildFailureWeigher(), options)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [-1e6, -5.0]
    assert host_weights.multipliers(hosts, _Own(), options) == 9.0
    assert host_weights.multipliers(hosts, _Any(), options) == 1.0


def test_weights_of_hosts() -> None:
    weighers = [RAMWeigher(), BuildFailureWeigher()]
    assert weights(_hosts(), request(), weighers).tolist() == [0.5, 1.0]
    off = request(multipliers={KEY: 0.0})
    assert weights(_hosts(), off, weighers).tolist() == [0.0, 0.0]
    assert weights(_hosts(), request(), []).tolist() == [0.0, 0.0]


def test_single_host_is_not_scored() -> None:
    hosts = all_hosts(fleet([a_host(free_ram_mb=5)]))
    strict = request(metrics_weight_setting={"cpu.percent": 1.0})
    weighers = [RAMWeigher(), MetricsWeigher()]
    assert weights(hosts, strict, weighers).tolist() == [0.0]
    with pytest.raises(Invalid):
        weights(_hosts(), strict, weighers)


def test_huge_multipliers_stay_exact_without_failures() -> None:
    hosts = all_hosts(
        fleet([a_host("h1", stats={"failed_builds": 1}), a_host("h2"), a_host("h3")])
    )
    found = weights(hosts, request(), [BuildFailureWeigher(), RAMWeigher()])
    assert found.tolist() == [-1e6 + 1.0, 1.0, 1.0]
    assert all(math.isfinite(one) for one in found)
