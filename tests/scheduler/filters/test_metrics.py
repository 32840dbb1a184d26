"""MetricsFilter: all metrics that count are there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.metrics import MetricsFilter
from tests.scheduler.filters.reading import check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request


def _metrics(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "value": 1.0} for name in names]


@pytest.mark.parametrize(
    ("metrics", "names", "expected"),
    [
        (_metrics("a", "b"), ("a",), True),
        (_metrics("a", "b"), ("a", "b"), True),
        (_metrics("a"), ("a", "b"), False),
        (_metrics(), ("a",), False),
        (None, ("a",), False),
        (None, (), True),
        ([{"name": "a", "value": None}], ("a",), True),
        (["odd"], ("a",), False),
    ],
)
def test_names(metrics: Any, names: tuple[str, ...], expected: bool) -> None:
    setting = dict.fromkeys(names, 1.0)
    host = a_host(metrics=metrics)
    found = passes(MetricsFilter(), host, metrics_weight_setting=setting)
    assert found is expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    there = {one["name"] for one in host.get("metrics") or ()}
    return all(name in there for name in asked.options.metrics_weight_setting)


@given(fleets(), st.sets(st.sampled_from(["cpu.percent", "net.load", "none"])))
def test_mask_equals_the_rule_per_host(plan: Plan, names: set[str]) -> None:
    asked = request(metrics_weight_setting=dict.fromkeys(names, 1.0))
    check(MetricsFilter(), plan, asked, _reading)
