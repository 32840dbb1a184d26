"""The fleet as answers: by name, with what is claimed and without our own notes."""

from __future__ import annotations

from gantt.model import commands as c
from gantt.model.fleet_lists import HostAggregateQuery
from gantt.model.hosts import HostAggregate, Instance
from gantt.placement import fleet_pages, fleet_queries
from tests.placement.fleet_desk import FleetDesk, claim, on, report, server, uuid_of


def names(desk: FleetDesk, **where: str) -> list[tuple[str, str]]:
    found = fleet_queries.host_page(desk.state, ("", ""), 100, **where)
    return [(one.host, one.node) for one in found.hosts]


def test_hosts_by_name() -> None:
    desk = FleetDesk()
    desk.do(report(2), report(1), report(3, host="h1"))
    assert names(desk) == [("h1", "n1"), ("h1", "n3"), ("h2", "n2")]
    assert names(desk, host="h1") == [("h1", "n1"), ("h1", "n3")]
    assert names(desk, node="n2") == [("h2", "n2")]
    assert names(desk, host="h1", node="n3") == [("h1", "n3")]
    assert names(desk, host="h2", node="n3") == names(desk, host="nope") == []


def test_a_host_as_it_is_known() -> None:
    desk = FleetDesk(1)
    group = HostAggregate(uuid_of(9), "a", 1, frozenset({"h1"}))
    desk.do(
        c.SetHostAggregates((group, HostAggregate(uuid_of(8), "b"))),
        c.UpdateInstances("h1", (Instance(server(2)), Instance(server(1)))),
        claim("one", on(3, 1)),
    )
    view = desk.host()
    assert view.claimed == {
        "vcpus": 2,
        "memory_mb": 1024,
        "disk_mb": 10240,
        "instances": 1,
    }
    assert view.instances == (server(1), server(2))
    assert view.aggregates == (uuid_of(9),)
    assert view.service == {}
    reported_at = view.updated_at
    desk.do(report(1, free_ram_mb=1))
    assert reported_at is not None
    assert (desk.host().updated_at or 0) > reported_at
    found, _ = fleet_pages.host_aggregates(desk.state, HostAggregateQuery())
    assert [one.name for one in found] == ["a", "b"]
