"""AggregateIoOpsFilter: limits of aggregates, the least one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.aggregate_io_ops import AggregateIoOpsFilter
from tests.scheduler.filters.reading import check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request

KEY = "max_io_ops_per_host"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((), True),
        (("5",), False),
        (("6",), False),
        (("7",), True),
        ((" 7 ",), True),
        (("100", "5"), False),
        # One that is no whole number voids them all: the option holds, which is 8.
        (("5", "many"), True),
        (("5.0",), True),
        (("3,4",), True),
        (("",), True),
    ],
)
def test_limits(limits: tuple[str, ...], expected: bool) -> None:
    host = a_host(stats={"io_workload": 6})
    metadata = [{KEY: limit} for limit in limits]
    assert passes(AggregateIoOpsFilter(), host, None, metadata) is expected


def test_huge_limit_is_no_limit() -> None:
    host = a_host(stats={"io_workload": 60})
    assert passes(AggregateIoOpsFilter(), host, None, [{KEY: "9" * 30}])
    assert not passes(AggregateIoOpsFilter(), host, None, [{KEY: "-" + "9" * 30}])


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    limit = asked.options.max_io_ops_per_host
    texts = plan.metadata_of(host, KEY)
    if texts and all(text.strip().isdigit() for text in texts):
        limit = min(int(text) for text in texts)
    running = int(host.get("stats", {}).get("io_workload", 0))
    return running + len(plan.claims_of(host)) < limit


@given(fleets(), st.integers(0, 14))
def test_mask_equals_the_rule_per_host(plan: Plan, limit: int) -> None:
    check(AggregateIoOpsFilter(), plan, request(max_io_ops_per_host=limit), _reading)
