"""DifferentHostFilter and SameHostFilter: not beside these instances, or beside one."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import RequestSpec
from gantt.scheduler.contract import Filter, Request
from gantt.scheduler.feasibility.filters.different_host import DifferentHostFilter
from gantt.scheduler.feasibility.filters.same_host import SameHostFilter
from tests.scheduler.filters.reading import NOTHING, Reading, check, passing, with_hints
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
    ("one", "uuids", "expected"),
    [
        (DifferentHostFilter, ("i1",), [False, True, True]),
        (DifferentHostFilter, ("i2",), [True, False, True]),
        (DifferentHostFilter, ("i1", "i2"), [False, False, True]),
        (DifferentHostFilter, ("nowhere",), [True, True, True]),
        (DifferentHostFilter, (), [True, True, True]),
        (SameHostFilter, ("i1",), [True, False, False]),
        (SameHostFilter, ("i2",), [False, True, False]),
        (SameHostFilter, ("i1", "i2"), [True, True, False]),
        (SameHostFilter, ("nowhere",), [False, False, False]),
        (SameHostFilter, (), [True, True, True]),
    ],
)
def test_hints(one: type[Filter], uuids: tuple[str, ...], expected: list[bool]) -> None:
    hint = "same_host" if one is SameHostFilter else "different_host"
    assert passing(one(), PLAN, with_hints(**{hint: uuids})) == expected


def test_every_host_passes_without_the_hint() -> None:
    assert passing(DifferentHostFilter(), PLAN) == [True] * 3


def test_hosts_picked_by_this_request_count() -> None:
    hosts = all_hosts(PLAN.state())
    hosts.consume(2, NOTHING, "new")
    asked = request(with_hints(different_host=("new",)))
    assert DifferentHostFilter().mask(hosts, asked).tolist() == [True, True, False]


def test_instances_belong_to_all_nodes_of_a_service() -> None:
    hosts = [a_host("h1", node="n1", instances=["i1"]), a_host("h1", node="n2")]
    spec = with_hints(same_host=("i1",))
    assert passing(SameHostFilter(), Plan(hosts), spec) == [True, True]


def _is_apart(plan: Plan, host: Plain, asked: Request) -> bool:
    uuids = asked.spec.scheduler_hints.get("different_host", ())
    there = plan.instances_of(host) | plan.promised_to(host)
    return not any(uuid in there for uuid in uuids)


def _is_beside(plan: Plan, host: Plain, asked: Request) -> bool:
    uuids = asked.spec.scheduler_hints.get("same_host")
    there = plan.instances_of(host) | plan.promised_to(host)
    return uuids is None or any(uuid in there for uuid in uuids)


@pytest.mark.parametrize(
    ("one", "reading"), [(DifferentHostFilter, _is_apart), (SameHostFilter, _is_beside)]
)
@given(plan=fleets(), spec=specs())
def test_mask_equals_the_rule_per_host(
    one: type[Filter], reading: Reading, plan: Plan, spec: RequestSpec
) -> None:
    check(one(), plan, request(spec), reading)
