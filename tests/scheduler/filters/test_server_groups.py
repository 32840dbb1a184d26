"""ServerGroupAffinityFilter, members together, and ServerGroupAntiAffinityFilter,
members apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.scheduler.contract import Request
from gantt.scheduler.feasibility.filters.server_group_affinity import (
    ServerGroupAffinityFilter,
)
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

NEW, H3 = "new", frozenset({"h3"})
I1, I1_I3 = frozenset({"i1"}), frozenset({"i1", "i3"})


def plan_of(policy: str, *on_h1: str) -> Plan:
    """Two known groups, with a member on h1 and one promised to h2."""
    return Plan(
        [a_host("h1", instances=on_h1), a_host("h2"), a_host("h3")],
        groups=[{"uuid": "known", "policy": policy, "members": ["i1"]}],
        claims=[{"instance": "i2", "host": "h2", "group": "promised"}],
    )


def members(plan: Plan, group: InstanceGroup) -> set[str]:
    found = set(group.members)
    for known in plan.groups:
        if known["uuid"] == group.uuid:
            found |= known["members"]
    return found | {
        one["instance"] for one in plan.claims if one["group"] == group.uuid
    }


# -- together -------------------------------------------------------------------------

TOGETHER = plan_of("affinity", "i1")


def together(**fields: Any) -> RequestSpec:
    return RequestSpec(instance_group=InstanceGroup(**{"policy": "affinity", **fields}))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (RequestSpec(), [True, True, True]),
        (together(), [True, True, True]),
        (together(hosts=H3), [False, False, True]),
        (together(hosts=frozenset({"elsewhere"})), [False, False, False]),
        (together(hosts=frozenset({"H3"})), [False, False, False]),
        (together(members=I1), [True, False, False]),
        (together(members=frozenset({"unborn"})), [True, True, True]),
        (together(uuid="known"), [True, False, False]),
        (together(uuid="promised"), [False, True, False]),
        (together(policy="soft-affinity", hosts=H3), [True, True, True]),
        (together(policy="anti-affinity", hosts=H3), [True, True, True]),
        (together(policy=None, hosts=H3), [True, True, True]),
    ],
)
def test_members_together(spec: RequestSpec, expected: list[bool]) -> None:
    assert passing(ServerGroupAffinityFilter(), TOGETHER, spec) == expected


def test_first_pick_determines_the_others() -> None:
    hosts = all_hosts(TOGETHER.state())
    hosts.consume(2, NOTHING, NEW)
    mask = ServerGroupAffinityFilter().mask(hosts, request(together()))
    assert mask.tolist() == [False, False, True]


def _are_together(plan: Plan, host: Plain, asked: Request) -> bool:
    group = asked.spec.instance_group
    if group is None or group.policy != "affinity":
        return True
    names, there = set(group.hosts), members(plan, group)
    names |= {one["host"] for one in plan.claims if one["instance"] in there}
    names |= {one["host"] for one in plan.hosts if there & one["instances"].keys()}
    return not names or host["host"] in names


@given(fleets(), specs())
def test_affinity_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ServerGroupAffinityFilter(), plan, request(spec), _are_together)


# -- apart ----------------------------------------------------------------------------

APART = plan_of("anti-affinity", "i1", "i3")


def apart(instance: str | None = NEW, **fields: Any) -> RequestSpec:
    group = InstanceGroup(**{"policy": "anti-affinity", **fields})
    return RequestSpec(instance_group=group, instance_uuid=instance)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (RequestSpec(), [True, True, True]),
        (apart(), [True, True, True]),
        (apart(members=I1), [False, True, True]),
        (apart(None, members=I1), [False, True, True]),
        (apart(members=I1_I3, max_server_per_host=2), [False, True, True]),
        (apart(members=I1_I3, max_server_per_host=3), [True, True, True]),
        (apart(members=I1, max_server_per_host=2), [True, True, True]),
        # What the caller says of hosts does not count: members do.
        (apart(hosts=H3), [True, True, True]),
        (apart(uuid="known"), [False, True, True]),
        (apart(uuid="promised"), [True, False, True]),
        (apart(members=frozenset({"i2"})), [True, False, True]),
        # It is there already and may stay.
        (apart("i3", members=I1_I3), [True, True, True]),
        (apart("i2", members=frozenset({"i2"})), [True, True, True]),
        (apart(policy="soft-anti-affinity", members=I1), [True, True, True]),
        (apart(policy="affinity", members=I1), [True, True, True]),
        (apart(policy=None, members=I1), [True, True, True]),
    ],
)
def test_members_apart(spec: RequestSpec, expected: list[bool]) -> None:
    assert passing(ServerGroupAntiAffinityFilter(), APART, spec) == expected


def test_picks_of_the_request_count() -> None:
    hosts = all_hosts(APART.state())
    spec = apart(members=I1, max_server_per_host=2)
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
    mask = ServerGroupAntiAffinityFilter().mask(kept, request(apart()))
    assert mask.tolist() == [False, False]


def test_member_picked_on_its_own_host_counts_once() -> None:
    hosts = all_hosts(APART.state())
    hosts.consume(0, NOTHING, "i1")
    asked = request(apart(members=I1, max_server_per_host=2))
    mask = ServerGroupAntiAffinityFilter().mask(hosts, asked)
    assert mask.tolist() == [True, True, True]


def _are_apart(plan: Plan, host: Plain, asked: Request) -> bool:
    group = asked.spec.instance_group
    if group is None or group.policy != "anti-affinity":
        return True
    there = plan.instances_of(host)
    if asked.spec.instance_uuid in there | plan.promised_to(host):
        return True
    # A member that moves counts where it is and where it is promised a place.
    coming = {one["instance"] for one in plan.claims if one["host"] == host["host"]}
    counted = members(plan, group) & (coming | there)
    return len(counted) < group.max_server_per_host


@given(fleets(), specs())
def test_anti_affinity_equals_the_rule_per_host(plan: Plan, spec: RequestSpec) -> None:
    check(ServerGroupAntiAffinityFilter(), plan, request(spec), _are_apart)
