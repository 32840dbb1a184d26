"""ServerGroupAntiAffinityFilter: members apart."""

from __future__ import annotations

import pytest
from hypothesis import given

from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.server_group_anti_affinity import (
    ServerGroupAntiAffinityFilter,
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
    [a_host("h1", instances=["i1", "i3"]), a_host("h2"), a_host("h3")],
    groups=[{"uuid": "known", "policy": "anti-affinity", "members": ["i1"]}],
    claims=[{"instance": "i2", "host": "h2", "group": "promised"}],
)


def _spec(instance: str | None = "new", **fields: object) -> RequestSpec:
    values = {"policy": "anti-affinity", **fields}
    group = InstanceGroup(**values)  # type: ignore[arg-type]
    return RequestSpec(instance_group=group, instance_uuid=instance)


I1, I1_I3 = frozenset({"i1"}), frozenset({"i1", "i3"})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (RequestSpec(), [True, True, True]),
        (_spec(), [True, True, True]),
        (_spec(members=I1), [False, True, True]),
        (_spec(None, members=I1), [False, True, True]),
        (_spec(members=I1_I3, max_server_per_host=2), [False, True, True]),
        (_spec(members=I1_I3, max_server_per_host=3), [True, True, True]),
        (_spec(members=I1, max_server_per_host=2), [True, True, True]),
        # What the caller says of hosts does not count: members do.
        (_spec(hosts=frozenset({"h3"})), [True, True, True]),
        (_spec(uuid="known"), [False, True, True]),
        (_spec(uuid="promised"), [True, False, True]),
        (_spec(members=frozenset({"i2"})), [True, False, True]),
        # It is there already and may stay.
        (_spec("i3", members=I1_I3), [True, True, True]),
        (_spec("i2", members=frozenset({"i2"})), [True, True, True]),
        (_spec(policy="soft-anti-affinity", members=I1), [True, True, True]),
        (_spec(policy="affinity", members=I1), [True, True, True]),
        (_spec(policy=None, members=I1), [True, True, True]),
    ],
)
def test_groups(spec: RequestSpec, expected: list[bool]) -> None:
    assert passing(ServerGroupAntiAffinityFilter(), PLAN, spec) == expected


def test_picks_of_the_request_count() -> None:
    hosts = all_hosts(PLAN.state())
    spec = _spec(members=I1, max_server_per_host=2)
    hosts.consume(0, NOTHING, "new-1")
    hosts.consume(2, NOTHING, "new-2")
    mask = ServerGroupAntiAffinityFilter().mask(hosts, request(spec))
    assert mask.tolist() == [False, True, True]
    hosts.consume(2, NOTHING, "new-3")
    mask = ServerGroupAntiAffinityFilter().mask(hosts, request(spec))
    assert mask.tolist() == [False, True, False]


def test_picks_count_for_all_nodes_of_the_host() -> None:
    plan = Plan([a_host("h0"), a_host("h1", node="n1"), a_host("h1", node="n2")])
    hosts = all_hosts(plan.state())
    hosts.consume(1, NOTHING, "other")
    kept = hosts.keep(hosts.rows > 0)
    mask = ServerGroupAntiAffinityFilter().mask(kept, request(_spec()))
    assert mask.tolist() == [False, False]


def test_member_picked_on_its_own_host_counts_once() -> None:
    hosts = all_hosts(PLAN.state())
    spec = _spec("new", members=I1, max_server_per_host=2)
    hosts.consume(0, NOTHING, "i1")
    mask = ServerGroupAntiAffinityFilter().mask(hosts, request(spec))
    assert mask.tolist() == [True, True, True]


def _reading(plan: Plan, host: Plain, asked: Request) -> bool:
    group = asked.spec.instance_group
    if group is None or group.policy != "anti-affinity":
        return True
    there = plan.instances_of(host)
    here = plan.promised_to(host)
    if asked.spec.instance_uuid in there | here:
        return True
    members = set(group.members)
    for known in plan.groups:
        if known["uuid"] == group.uuid:
            members |= known["members"]
    members |= {one["instance"] for one in plan.claims if one["group"] == group.uuid}
    # A member that moves counts where it is and where it is promised a place.
    coming = {one["instance"] for one in plan.claims if one["host"] == host["host"]}
    return len(members & (coming | there)) < group.max_server_per_host


@given(fleets(), specs())
def test_mask_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ServerGroupAntiAffinityFilter(), plan, request(spec), _reading)
