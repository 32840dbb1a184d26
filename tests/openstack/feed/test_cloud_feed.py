"""The feed: what Nova's databases say is what Gantt knows, and what it knows of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from gantt.errors import Unavailable
from gantt.model.fleet import FleetStatement
from gantt.model.hosts import HostAggregate, HostStats
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import now
from tests.waiting import until


def test_the_first_reading_has_everything(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1", vcpus=48)
    cell.host("h2")
    _, instance = cell.instance("h1")
    cell.instance(None)
    number, uuid = cloud.api.aggregate("a", ["h1"], availability_zone="z")
    _, group = cloud.api.group(
        "anti-affinity", [instance], '{"max_server_per_host": 3}'
    )
    cloud.feed()
    first, second = cloud.books.list_hosts()
    assert (first.host, first.node, first.instances) == ("h1", "h1", (instance,))
    assert first.stats["vcpus"] == 48
    assert first.stats["cpu_info"]["model"] == "EPYC"
    assert first.aggregates == (uuid,)
    assert first.service == {
        "binary": "nova-compute",
        "disabled": False,
        "disabled_reason": None,
        "forced_down": False,
        "last_seen_up": None,
        "availability_zone": None,
        "cell_uuid": cloud.uuids["one"],
        "version": 74,
    }
    assert (second.host, second.instances) == ("h2", ())
    assert cloud.books.list_host_aggregates() == (
        HostAggregate(uuid, "a", number, frozenset({"h1"}), {"availability_zone": "z"}),
    )
    row = cloud.books.read(lambda state: state.fleet.groups.by_uuid[group])
    assert (row.policy, row.max_server_per_host) == ("anti-affinity", 3)
    assert cloud.books.verify().problems == ()


def test_what_changes_is_learnt(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    node = cell.host("h1")
    service = cell.service("h3")
    key, instance = cell.instance("h1")
    cloud.feed()

    def vcpus() -> dict[str, int]:
        return {one.host: one.stats["vcpus"] for one in cloud.books.list_hosts()}

    cell.change("compute_nodes", node, vcpus=65)
    until(lambda: vcpus() == {"h1": 65})
    cell.host("h2")
    until(lambda: vcpus() == {"h1": 65, "h2": 64})
    cell.change("instances", key, host="h2")
    until(lambda: [h.instances for h in cloud.books.list_hosts()] == [(), (instance,)])
    cell.soft_delete("compute_nodes", node)
    until(lambda: vcpus() == {"h2": 64})
    cell.soft_delete("services", service)
    until(lambda: len(cloud.books.list_services()) == 3)


def test_nothing_that_feed_did_not_name_stays(cloud: Cloud) -> None:
    cloud.cell("one").host("h1")
    cloud.books.set_host_aggregates((HostAggregate(str(uuid4()), "old"),))
    cloud.books.update_host("old", "old", HostStats(vcpus=1, memory_mb=1))
    cloud.feed()
    assert [one.host for one in cloud.books.list_hosts()] == ["h1"]
    assert cloud.books.list_host_aggregates() == ()


def test_a_service_without_heartbeats_is_down(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.node("h1")
    silent = now() - timedelta(seconds=90)
    service = cell.service("h1", last_seen_up=silent)
    cloud.feed()

    def seen() -> object:
        (host,) = cloud.books.list_hosts()
        return host.service["last_seen_up"]

    assert seen() is not None
    cell.change("services", service, last_seen_up=now())
    until(lambda: seen() is None)


def test_it_is_ready_while_it_passes_on(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not once that has failed, until it works again."""
    database = cloud.cell("one")
    node = database.host("h1")
    seen: list[str] = []
    feed = cloud.feed()
    set_fleet = cloud.books.set_fleet

    def watched(statement: FleetStatement) -> Any:
        seen.append(feed.unready())
        if len(seen) == 1:
            raise Unavailable("not now")
        return set_fleet(statement)

    monkeypatch.setattr(cloud.books, "set_fleet", watched)
    database.change("compute_nodes", node, vcpus=65)
    until(lambda: cloud.books.list_hosts()[0].stats["vcpus"] == 65)
    assert seen[0] == ""
    assert seen[1] == "what Nova's databases say cannot be passed on"
    until(lambda: feed.unready() == "")
    feed.stop()
    assert feed.unready() == "stopping"
