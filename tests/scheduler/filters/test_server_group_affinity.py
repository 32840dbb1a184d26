"""ServerGroupAffinityFilter: members together."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.server_group_affinity import (
    ServerGroupAffinityFilter,
)
from tests.scheduler.filters.reading import NOTHING, check, passing
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
    groups=[{"uuid": "known", "policy": "affinity", "members": ["i1"]}],
    claims=[{"instance": "i2", "host": "h2", "group": "promised"}],
)


def _spec(**fields: object) -> RequestSpec:
    group = InstanceGroup(**{"policy": "affinity", **fields})  # type: ignore[arg-type]
    return RequestSpec(instance_group=group)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (RequestSpec(), [True, True, True]),
        (_spec(), [True, True, True]),
        (_spec(hosts=frozenset({"h3"})), [False, False, True]),
        (_spec(hosts=frozenset({"elsewhere"})), [False, False, False]),
        (_spec(hosts=frozenset({"H3"})), [False, False, False]),
        (_spec(members=frozenset({"i1"})), [True, False, False]),
        (_spec(members=frozenset({"unborn"})), [True, True, True]),
        (_spec(uuid="known"), [True, False, False]),
        (_spec(uuid="promised"), [False, True, False]),
        (_spec(policy="soft-affinity", hosts=frozenset({"h3"})), [True, True, True]),
        (_spec(policy="anti-affinity", hosts=frozenset({"h3"})), [True, True, True]),
        (_spec(policy=None, hosts=frozenset({"h3"})), [True, True, True]),
    ],
)
def test_groups(spec: RequestSpec, expected: list[bool]) -> None:
    assert passing(ServerGroupAffinityFilter(), PLAN, spec) == expected


def test_first_pick_determines_the_others() -> None:
    hosts = all_hosts(PLAN.state())
    hosts.consume(2, NOTHING, "new")
    mask = ServerGroupAffinityFilter().mask(hosts, request(_spec()))
    assert mask.tolist() == [False, False, True]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    group = asked.spec.instance_group
    if group is None or group.policy != "affinity":
        return True
    names = set(group.hosts)
    members = set(group.members)
    for known in plan.groups:
        if known["uuid"] == group.uuid:
            members |= known["members"]
    members |= {one["instance"] for one in plan.claims if one["group"] == group.uuid}
    names |= {one["host"] for one in plan.claims if one["instance"] in members}
    names |= {one["host"] for one in plan.hosts if members & one["instances"].keys()}
    return not names or host["host"] in names


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ServerGroupAffinityFilter(), plan, request(spec), _reading)
