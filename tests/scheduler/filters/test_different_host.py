"""DifferentHostFilter: not beside these instances."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.different_host import DifferentHostFilter
from tests.scheduler.filters.reading import NOTHING, check, passing, with_hints
from tests.scheduler.fleets import (
    Plain,
    Plan,
    a_host,
    all_hosts,
    fleets,
    request,
    specs,
)

PLAN = Plan(
    [a_host("h1", instances=["i1"]), a_host("h2"), a_host("h3")],
    claims=[{"instance": "i2", "host": "h2"}],
)


@pytest.mark.parametrize(
    ("uuids", "expected"),
    [
        (("i1",), [False, True, True]),
        (("i2",), [True, False, True]),
        (("i1", "i2"), [False, False, True]),
        (("nowhere",), [True, True, True]),
        ((), [True, True, True]),
    ],
)
def test_hints(uuids: tuple[str, ...], expected: list[bool]) -> None:
    spec = with_hints(different_host=uuids)
    assert passing(DifferentHostFilter(), PLAN, spec) == expected


def test_every_host_passes_without_the_hint() -> None:
    assert passing(DifferentHostFilter(), PLAN) == [True] * 3


def test_hosts_picked_by_this_request_count() -> None:
    hosts = all_hosts(PLAN.state())
    hosts.consume(2, NOTHING, "new")
    asked = request(with_hints(different_host=("new",)))
    assert DifferentHostFilter().mask(hosts, asked).tolist() == [True, True, False]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    uuids = asked.spec.scheduler_hints.get("different_host", ())
    there = plan.instances_of(host) | plan.promised_to(host)
    return not any(uuid in there for uuid in uuids)


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(DifferentHostFilter(), plan, request(spec), _reading)
