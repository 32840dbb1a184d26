"""NumInstancesFilter: hosts that are not full by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.num_instances import NumInstancesFilter
from tests.scheduler.filters.reading import NOTHING, check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, all_hosts, fleets, request


@pytest.mark.parametrize(("there", "expected"), [(0, True), (49, True), (50, False)])
def test_limit(there: int, expected: bool) -> None:
    host = a_host(stats={"num_instances": there})
    assert passes(NumInstancesFilter(), host) is expected
    assert passes(NumInstancesFilter(), host, max_instances_per_host=there + 1)


def test_picks_count_as_instances() -> None:
    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    hosts.consume(0, NOTHING, "new")
    mask = NumInstancesFilter().mask(hosts, request(max_instances_per_host=1))
    assert mask.tolist() == [False, True]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    there = int(host.get("stats", {}).get("num_instances", 0))
    return there + len(plan.claims_of(host)) < asked.options.max_instances_per_host


@given(fleets(), st.integers(0, 14))
def test_mask_equals_the_rule_per_host(plan: Plan, limit: int) -> None:
    check(NumInstancesFilter(), plan, request(max_instances_per_host=limit), _reading)
