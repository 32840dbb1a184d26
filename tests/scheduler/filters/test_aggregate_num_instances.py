"""AggregateNumInstancesFilter: limits of aggregates, the least one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_num_instances import (
    AggregateNumInstancesFilter,
)
from tests.scheduler.filters.reading import check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request

KEY = "max_instances_per_host"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((), True),
        (("30",), False),
        (("31",), True),
        (("100", "5"), False),
        # One that is no whole number voids them all: the option holds, which is 50.
        (("5", "many"), True),
        (("30.0",), True),
    ],
)
def test_limits(limits: tuple[str, ...], expected: bool) -> None:
    host = a_host(stats={"num_instances": 30})
    metadata = [{KEY: limit} for limit in limits]
    assert passes(AggregateNumInstancesFilter(), host, None, metadata) is expected


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    limit = asked.options.max_instances_per_host
    texts = plan.metadata_of(host, KEY)
    if texts and all(text.strip().isdigit() for text in texts):
        limit = min(int(text) for text in texts)
    there = int(host.get("stats", {}).get("num_instances", 0))
    return there + len(plan.claims_of(host)) < limit


@given(fleets(), st.integers(0, 14))
def test_mask_equals_the_rule_per_host(plan: Plan, limit: int) -> None:
    asked = request(max_instances_per_host=limit)
    check(AggregateNumInstancesFilter(), plan, asked, _reading)
