"""The pre-filter of routed networks: segments become aggregates."""

from __future__ import annotations

import pytest

from gantt.errors import Invalid, NoValidHost
from gantt.model import commands as c
from gantt.model.spec import Destination, Flavor, RequestedNetwork, RequestSpec
from gantt.placement.candidates.combination import Budget
from gantt.scheduler.evaluation.known_drivers import caching
from gantt.scheduler.options import SchedulerOptions
from gantt.scheduler.plugins.policy import policy_of
from gantt.scheduler.request import prefilters
from gantt.scheduler.request.prefilters.context import PrefilterContext
from gantt.scheduler.request.segments import as_listed, in_books, segments_of
from gantt.state.fleet_columns import Fleet
from tests.scheduler.desk import Desk, source

ON = SchedulerOptions(query_placement_for_routed_network_aggregates=True)
OFF = SchedulerOptions()
KNOWN = {
    "s1": frozenset({"a1"}),
    "s2": frozenset({"a2", "a3"}),
    "s3": frozenset({"a1"}),
}


def network(*segments: str, trouble: str = "") -> RequestedNetwork:
    return RequestedNetwork("net", segments=frozenset(segments), trouble=trouble)


def applied(*networks: RequestedNetwork, options: SchedulerOptions = ON) -> Destination:
    spec = RequestSpec(requested_networks=networks)
    found = prefilters.apply(
        spec, PrefilterContext(Fleet(), options, bool, as_listed(KNOWN))
    )
    assert found.requested_networks == networks
    return found.requested_destination or Destination()


def test_segments_of_one_network_are_alternatives_and_networks_add_up() -> None:
    found = applied(network("s1", "s2"), network("s3"), network())
    assert found.aggregates == (frozenset({"a1", "a2", "a3"}), frozenset({"a1"}))


def test_networks_that_are_not_routed_add_nothing() -> None:
    assert applied(network()).aggregates == ()
    assert applied().aggregates == ()


def test_aggregates_that_the_caller_requires_stay() -> None:
    mine = Destination(aggregates=(frozenset({"mine"}),))
    spec = RequestSpec(requested_networks=(network("s1"),), requested_destination=mine)
    found = prefilters.apply(
        spec, PrefilterContext(Fleet(), ON, bool, as_listed(KNOWN))
    )
    assert found.requested_destination is not None
    assert found.requested_destination.aggregates == (
        frozenset({"mine"}),
        frozenset({"a1"}),
    )


@pytest.mark.parametrize("segments", [("s1", "lost"), ("lost",)])
def test_a_segment_without_an_aggregate_is_no_valid_host(
    segments: tuple[str, ...],
) -> None:
    with pytest.raises(NoValidHost, match="segment lost of network net has no aggreg"):
        applied(network(*segments))


def test_why_segments_are_not_known_is_the_reason() -> None:
    failed = RequestedNetwork(port_id="p", trouble="Neutron is away.")
    with pytest.raises(NoValidHost, match=r"port p are not known: Neutron is away\."):
        applied(network("s1"), failed)


def test_segments_must_come_with_the_request() -> None:
    with pytest.raises(Invalid, match=r"requested_networks\.1 \(network n\)"):
        applied(network("s1"), RequestedNetwork("n"))


def test_the_option_switches_all_of_it() -> None:
    networks = (network("s1"), network("lost"), RequestedNetwork("n", trouble="x"))
    assert applied(*networks, options=OFF).aggregates == ()
    spec = RequestSpec(requested_networks=(network("s2", "s1"), network("s1")))
    assert segments_of(spec, OFF) == ()
    assert segments_of(spec, ON) == ("s1", "s2")


def test_a_cached_shape_follows_the_aggregates_of_segments() -> None:
    desk = Desk(1)
    desk.add_hosts(8)
    segment, pools = desk.new_uuid(), [desk.new_uuid() for _ in range(3)]
    desk.submit(c.CreateProvider(segment, "segment"))
    hosts = desk.state.fleet.hosts
    for row, uuid in enumerate(hosts.uuids[:6]):
        assert uuid is not None
        desk.submit(c.SetAggregates(uuid, (pools[row % 3],)))
    driver = caching(policy_of(ON))

    def passing(port: str) -> list[str]:
        spec = RequestSpec(
            flavor=Flavor(vcpus=1, memory_mb=64),
            requested_networks=(
                RequestedNetwork(port_id=port, segments=frozenset({segment})),
            ),
        )
        found = driver.feasible_hosts(
            desk.state, spec, source(True), now=desk.now, budget=Budget()
        )
        return sorted(found.hosts.names)

    with pytest.raises(NoValidHost):
        passing("p1")
    desk.submit(c.SetAggregates(segment, tuple(pools[:1])))
    assert in_books(desk.state)(segment) == {pools[0]}
    assert passing("p1") == ["h0", "h3"]
    assert passing("p2") == ["h0", "h3"]  # a port is no part of a shape
    assert driver.hits == 1
    desk.submit(c.SetAggregates(segment, tuple(pools[1:])))
    assert passing("p3") == ["h1", "h2", "h4", "h5"]
    assert driver.hits == 1
    desk.submit(c.SetAggregates(segment, ()))
    with pytest.raises(NoValidHost):
        passing("p4")
