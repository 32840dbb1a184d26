"""The feed: what Nova's databases say is what Gantt knows, and what it knows of it."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from msgspec import UNSET

from gantt.errors import Unavailable
from gantt.model.answers import Inventory
from gantt.model.audit import Audit, AuditTerms
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import Cell, FleetStatement
from gantt.model.hosts import HostAggregate, HostStats
from gantt.openstack.feed import cell_feed, nova_tables
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.placement.audit_queries import audit
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase, now
from tests.openstack.feed.test_rounds import stopped
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


def test_a_lost_allocation_and_an_orphan_are_found(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_feed, "TOLD_EVERY_S", 0.0)
    cell = cloud.cell("one")
    hosted(cloud, cell, "h1")
    _, booked = cell.instance("h1")
    _, lost = cell.instance("h1")
    allocate(cloud, "h1", booked)
    cloud.feed()
    (found,) = audited(cloud).findings
    assert (found.kind, found.host, found.instance_uuid) == ("no_claim", "h1", lost)

    orphan = str(uuid.uuid4())
    allocate(cloud, "h1", orphan)
    until(lambda: "no_workload" in audited(cloud).counts)
    (leak,) = (one for one in audited(cloud).findings if one.kind == "no_workload")
    assert (leak.host, leak.instance_uuid) == ("h1", orphan)
    assert leak.repair == "remove its allocations here"
    cloud.books.repair(leak, grace_s=0.0)
    assert cloud.books.get_allocations(orphan) is None
    assert cloud.books.get_allocations(booked) is not None


def test_a_cell_that_is_not_read_any_more_says_nothing(cloud: Cloud) -> None:
    cloud.cell("one").host("h1")
    cloud.feed()
    until(lambda: audited(cloud).listing == 1)
    terms = AuditTerms(fresh_us=600_000_000, grace_us=0)
    now = time.time_ns() // 1_000

    def at(later_us: int) -> Audit:
        return cloud.books.read(lambda state: audit(state, now + later_us, terms))

    soon, late = at(500_000_000), at(700_000_000)
    assert (soon.listing, soon.is_blind) == (1, False)
    assert (late.hosts, late.listing, late.is_blind) == (1, 0, True)


def test_nodes_of_one_compute_are_told_of_once(cloud: Cloud) -> None:
    """As Ironic has them: which node an instance is on is not among what is read."""
    cell = cloud.cell("one")
    cell.service("h1")
    for name in ("n1", "n2", "n3"):
        node(cloud, cell, "h1", name)
    _, booked = cell.instance("h1")
    _, lost = cell.instance("h1")
    allocate(cloud, "n2", booked)
    cloud.feed()
    (found,) = audited(cloud).findings
    assert (found.kind, found.host, found.node) == ("no_claim", "h1", "")
    assert found.instance_uuid == lost


def test_that_a_cell_is_read_is_told_once_in_a_while(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.cell("one").host("h1")
    _, cell = stopped(cloud)
    seen: list[int] = []
    mark = cell._mark

    def marked(one: Cell) -> None:
        assert one.read_at is not UNSET
        seen.append(one.read_at)
        mark(one)

    monkeypatch.setattr(cell, "_mark", marked)
    for _ in range(5):
        cell._try()
    assert seen == []
    now, back = NovaDatabase.now, timedelta(minutes=5)
    monkeypatch.setattr(NovaDatabase, "now", lambda one: now(one) - back)
    cell._try()
    assert len(seen) == 1, "its clock was set back"
    monkeypatch.setattr(NovaDatabase, "now", now)
    monkeypatch.setattr(cell_feed, "TOLD_EVERY_S", 0.0)
    cell._try()
    assert len(seen) == 2
    row = cloud.books.read(
        lambda state: state.fleet.facts.by_subject["cell", cloud.uuids["one"]]
    )
    assert row.at == seen[1]


def test_hosts_of_another_source_are_not_taken_for_whole(cloud: Cloud) -> None:
    cloud.books.update_host("h1", "h1", HostStats(vcpus=1, memory_mb=1))
    assert audited(cloud).is_blind


def audited(cloud: Cloud) -> Audit:
    return cloud.books.audit(grace_s=0.0)


def hosted(cloud: Cloud, cell: CellDatabase, host: str) -> None:
    cell.service(host)
    node(cloud, cell, host, host)


def node(cloud: Cloud, cell: CellDatabase, host: str, name: str) -> None:
    """A compute node whose provider its compute has made."""
    key = cell.node(host, hypervisor_hostname=name)
    n = nova_tables.NODES.c
    with cell.engine.connect() as connection:
        (found,) = connection.execute(sa.select(n.uuid).where(n.id == key)).one()
    cloud.books.create_provider(name, uuid=found)
    cloud.books.set_inventories(found, {"VCPU": Inventory(total=64)})


def allocate(
    cloud: Cloud, provider: str, consumer: str, kind: str | None = "INSTANCE"
) -> None:
    (found,) = (one for one in cloud.books.list_providers() if one.name == provider)
    amounts = {found.uuid: {"VCPU": 1}}
    said = ConsumerAllocations(
        consumer,
        amounts,
        "project",
        "user",
        None,
        consumer_type=UNSET if kind is None else kind,
    )
    cloud.books.set_allocations([said])
