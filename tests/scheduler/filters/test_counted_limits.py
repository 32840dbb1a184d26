"""IoOpsFilter and NumInstancesFilter, hosts with less than so many, and the variants
whose limits aggregates have, of which the least counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.feasibility.filters.aggregate_io_ops import AggregateIoOpsFilter
from gantt.scheduler.feasibility.filters.aggregate_num_instances import (
    AggregateNumInstancesFilter,
)
from gantt.scheduler.feasibility.filters.io_ops import IoOpsFilter
from gantt.scheduler.feasibility.filters.num_instances import NumInstancesFilter
from tests.scheduler.filters.reading import NOTHING, check, passes
from tests.scheduler.fleets import Plain, Plan, a_host, all_hosts, fleets, request


class Counted(NamedTuple):
    """What is counted, in a report's ``stat``; ``limit``: the option, and the key of
    aggregates."""

    alone: type[Filter]
    of_aggregates: type[Filter]
    stat: str
    limit: str

    def host(self, there: int, name: str = "h1") -> Plain:
        return a_host(name, stats={self.stat: there})

    def request(self, limit: int) -> Request:
        options: dict[str, Any] = {self.limit: limit}
        return request(**options)


IO_OPS = Counted(
    IoOpsFilter, AggregateIoOpsFilter, "io_workload", "max_io_ops_per_host"
)
INSTANCES = Counted(
    NumInstancesFilter,
    AggregateNumInstancesFilter,
    "num_instances",
    "max_instances_per_host",
)
each = pytest.mark.parametrize("counted", [IO_OPS, INSTANCES], ids=lambda one: one.stat)


@pytest.mark.parametrize(
    ("counted", "there", "expected"),
    [
        (IO_OPS, 0, True),
        (IO_OPS, 7, True),
        (IO_OPS, 8, False),
        (INSTANCES, 0, True),
        (INSTANCES, 49, True),
        (INSTANCES, 50, False),
    ],
)
def test_limit(counted: Counted, there: int, expected: bool) -> None:
    host = counted.host(there)
    assert passes(counted.alone(), host) is expected
    more: dict[str, Any] = {counted.limit: there + 1}
    assert passes(counted.alone(), host, **more)


@each
def test_picks_are_counted(counted: Counted) -> None:
    plan = Plan([counted.host(0, name) for name in ("h1", "h2")])
    hosts = all_hosts(plan.state())
    hosts.consume(0, NOTHING, "new")
    mask = counted.alone().mask(hosts, counted.request(1))
    assert mask.tolist() == [False, True]


@pytest.mark.parametrize(
    ("counted", "there", "limits", "expected"),
    [
        (IO_OPS, 6, (), True),
        (IO_OPS, 6, ("5",), False),
        (IO_OPS, 6, ("6",), False),
        (IO_OPS, 6, ("7",), True),
        (IO_OPS, 6, (" 7 ",), True),
        (IO_OPS, 6, ("100", "5"), False),
        # One that is no whole number voids them all: the option holds.
        (IO_OPS, 6, ("5", "many"), True),
        (IO_OPS, 6, ("5.0",), True),
        (IO_OPS, 6, ("3,4",), True),
        (IO_OPS, 6, ("",), True),
        (INSTANCES, 30, (), True),
        (INSTANCES, 30, ("30",), False),
        (INSTANCES, 30, ("31",), True),
        (INSTANCES, 30, ("100", "5"), False),
        (INSTANCES, 30, ("5", "many"), True),
        (INSTANCES, 30, ("30.0",), True),
        # A huge one is none.
        (IO_OPS, 60, ("9" * 30,), True),
        (IO_OPS, 60, ("-" + "9" * 30,), False),
    ],
)
def test_limits_of_aggregates(
    counted: Counted, there: int, limits: tuple[str, ...], expected: bool
) -> None:
    metadata = [{counted.limit: limit} for limit in limits]
    host = counted.host(there)
    assert passes(counted.of_aggregates(), host, None, metadata) is expected


@each
@pytest.mark.parametrize("aggregates", [False, True])
@given(plan=fleets(), limit=st.integers(0, 14))
def test_mask_equals_the_rule_per_host(
    counted: Counted, aggregates: bool, plan: Plan, limit: int
) -> None:
    def reading(_plan: Plan, host: Plain, _asked: Request) -> bool:
        there = int(host.get("stats", {}).get(counted.stat, 0))
        least = limit
        texts = plan.metadata_of(host, counted.limit) if aggregates else []
        if texts and all(text.strip().isdigit() for text in texts):
            least = min(int(text) for text in texts)
        return there + len(plan.claims_of(host)) < least

    one = counted.of_aggregates if aggregates else counted.alone
    check(one(), plan, counted.request(limit), reading)
