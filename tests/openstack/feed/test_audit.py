"""The audit of a fleet that the feed knows: Nova's databases say what runs where."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

import pytest
import sqlalchemy as sa
from msgspec import UNSET

from gantt.model.answers import Inventory
from gantt.model.audit import Audit, AuditTerms
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import Cell
from gantt.model.hosts import HostStats
from gantt.openstack.feed import cell_feed, nova_tables
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.placement.audit_queries import audit
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase
from tests.openstack.feed.test_rounds import stopped
from tests.waiting import until


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
