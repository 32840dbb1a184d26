"""SameHostFilter: beside one of these instances."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.same_host import SameHostFilter
from tests.scheduler.filters.reading import check, passing, with_hints
from tests.scheduler.fleets import Plain, Plan, a_host, fleets, request, specs

PLAN = Plan(
    [a_host("h1", instances=["i1"]), a_host("h2"), a_host("h3")],
    claims=[{"instance": "i2", "host": "h2"}],
)


@pytest.mark.parametrize(
    ("uuids", "expected"),
    [
        (("i1",), [True, False, False]),
        (("i2",), [False, True, False]),
        (("i1", "i2"), [True, True, False]),
        (("nowhere",), [False, False, False]),
        ((), [True, True, True]),
    ],
)
def test_hints(uuids: tuple[str, ...], expected: list[bool]) -> None:
    assert passing(SameHostFilter(), PLAN, with_hints(same_host=uuids)) == expected


def test_instances_belong_to_all_nodes_of_a_service() -> None:
    hosts = [
        a_host("h1", node="n1", instances=["i1"]),
        a_host("h1", node="n2"),
    ]
    spec = with_hints(same_host=("i1",))
    assert passing(SameHostFilter(), Plan(hosts), spec) == [True, True]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    uuids = asked.spec.scheduler_hints.get("same_host")
    there = plan.instances_of(host) | plan.promised_to(host)
    return uuids is None or any(uuid in there for uuid in uuids)


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(SameHostFilter(), plan, request(spec), _reading)
