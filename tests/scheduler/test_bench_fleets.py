"""The fleets of the tests are what their plain words say."""

from __future__ import annotations

from hypothesis import given

from tests.scheduler.fleets import Plan, a_host, all_hosts, fleet, fleets, place_of


def test_fleet_matches_its_description() -> None:
    state = fleet(
        [a_host("h1", instances=["i1"]), a_host("h2", service={"disabled": True})],
        aggregates=[{"uuid": "a", "hosts": ["h2"], "metadata": {"ssd": "true"}}],
        groups=[{"uuid": "g", "policy": "affinity", "members": ["i1"]}],
        claims=[{"instance": "i2", "host": "h2", "vcpus": 2, "group": "g"}],
    )
    hosts = all_hosts(state)
    assert hosts.names == ["h1", "h2"]
    assert hosts.is_disabled.tolist() == [False, True]
    assert hosts.vcpus_used.tolist() == [0, 2]
    assert hosts.instances_on(0) == {"i1"}
    assert hosts.instances_on(1) == {"i2"}
    codes, values = hosts.aggregate_values("ssd")
    assert [values[code] for code in codes] == [(), ("true",)]


@given(fleets())
def test_random_fleets_can_be_built(plan: Plan) -> None:
    hosts = all_hosts(plan.state())
    assert list(zip(hosts.names, hosts.nodes, strict=True)) == [
        place_of(one) for one in plan.hosts
    ]
    for place, one in enumerate(plan.hosts):
        promised = plan.promised_to(one)
        assert hosts.instances_on(place) == plan.instances_of(one) | promised
