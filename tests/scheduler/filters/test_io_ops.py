"""IoOpsFilter: hosts that are not busy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.io_ops import IoOpsFilter
from tests.scheduler.filters.reading import NOTHING, check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, all_hosts, fleets, request


@pytest.mark.parametrize(("running", "expected"), [(0, True), (7, True), (8, False)])
def test_limit(running: int, expected: bool) -> None:
    host = a_host(stats={"io_workload": running})
    assert passes(IoOpsFilter(), host) is expected
    assert passes(IoOpsFilter(), host, max_io_ops_per_host=running + 1)


def test_picks_count_as_operations() -> None:
    hosts = all_hosts(Plan([a_host("h1"), a_host("h2")]).state())
    hosts.consume(0, NOTHING, "new")
    mask = IoOpsFilter().mask(hosts, request(max_io_ops_per_host=1))
    assert mask.tolist() == [False, True]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    running = int(host.get("stats", {}).get("io_workload", 0))
    return running + len(plan.claims_of(host)) < asked.options.max_io_ops_per_host


@given(fleets(), st.integers(0, 14))
def test_mask_equals_the_rule_per_host(plan: Plan, limit: int) -> None:
    check(IoOpsFilter(), plan, request(max_io_ops_per_host=limit), _reading)
