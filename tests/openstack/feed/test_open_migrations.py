"""Migrations of Nova's that have not ended: read, told, and not taken for mistakes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from gantt.engine.gantt import Gantt
from gantt.model.audit import Finding
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import FleetStatement, Move
from gantt.model.hosts import HostStats
from gantt.openstack.feed import cell_feed
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.open_migrations import ENDED, Moves
from gantt.state.report_decoder import MOVING
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase, now
from tests.openstack.feed.test_cloud_feed import allocate, audited, hosted
from tests.openstack.feed.test_rounds import stopped
from tests.openstack.feed.test_unreadable_rows import BROKEN, force
from tests.waiting import until


@pytest.fixture(autouse=True)
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_feed, "TOLD_EVERY_S", 0.0)


def migration(cell: CellDatabase, instance: str, **more: Any) -> tuple[int, str]:
    """One from h1 to h2 that goes on; its id and uuid."""
    uuid = str(uuid4())
    given = {
        "uuid": uuid,
        "instance_uuid": instance,
        "source_compute": "h1",
        "dest_compute": "h2",
        "status": "running",
        "migration_type": "live-migration",
        "deleted": 0,
    }
    return cell.add("migrations", **given | more), uuid


def two_hosts(cloud: Cloud) -> CellDatabase:
    cell = cloud.cell("one")
    for host in ("h1", "h2"):
        hosted(cloud, cell, host)
    return cell


def leaks(cloud: Cloud) -> list[Finding]:
    return [one for one in audited(cloud).findings if one.kind == "no_workload"]


def told(books: Gantt) -> set[str]:
    """All that the books know to be moving."""
    return books.read(
        lambda state: set().union(
            *(one.get(MOVING, ()) for one in state.fleet.hosts.stats)
        )
    )


def test_a_live_migration_is_no_finding_until_it_has_left_something(
    cloud: Cloud,
) -> None:
    cell = two_hosts(cloud)
    row, instance = cell.instance("h1")
    number, uuid = migration(cell, instance)
    allocate(cloud, "h1", uuid, None)
    allocate(cloud, "h2", instance, None)
    feed = cloud.feed()
    assert told(cloud.books) == {uuid, instance}
    rounds = feed.counts()["cell_rounds"]
    until(lambda: feed.counts()["cell_rounds"] > rounds + 2)
    assert audited(cloud).findings == ()

    cell.change("instances", row, host="h2", node="h2")
    cell.change("migrations", number, status="completed")
    until(lambda: told(cloud.books) == set())
    until(lambda: bool(leaks(cloud)) and bool(leaks(cloud)[0].repair))
    (found,) = audited(cloud).findings
    assert (found.host, found.instance_uuid) == ("h1", uuid)
    assert cloud.books.audit().findings == (), "it ended just now"
    cloud.books.repair(found, grace_s=0.0)
    assert cloud.books.get_allocations(uuid) is None
    assert cloud.books.get_allocations(instance) is not None
    assert cloud.books.verify().problems == ()


def test_a_resize_that_waits_is_no_finding(cloud: Cloud) -> None:
    """Its instance is at the target, and what it had before at the source."""
    cell = two_hosts(cloud)
    _, instance = cell.instance("h2")
    _, uuid = migration(cell, instance, status="finished", migration_type="resize")
    allocate(cloud, "h1", uuid, None)
    allocate(cloud, "h2", instance, None)
    cloud.feed()
    assert audited(cloud).findings == ()
    lost = str(uuid4())
    allocate(cloud, "h1", lost, None)
    until(lambda: [one.instance_uuid for one in leaks(cloud)] == [lost])
    until(lambda: leaks(cloud)[0].repair != "")


@pytest.mark.parametrize("status", ENDED)
def test_what_has_ended_does_not_move(cloud: Cloud, status: str) -> None:
    cell = two_hosts(cloud)
    _, instance = cell.instance("h2")
    migration(cell, instance, status=status)
    cloud.feed()
    assert told(cloud.books) == set()


def test_what_was_deleted_does_not_move(cloud: Cloud) -> None:
    """Nova leaves the migration as it was."""
    cell = two_hosts(cloud)
    row, instance = cell.instance("h2")
    migration(cell, instance)
    cloud.feed()
    assert told(cloud.books) >= {instance}
    cell.soft_delete("instances", row)
    until(lambda: told(cloud.books) == set())


def test_what_an_evacuation_left_in_a_nova_cloud_is_repaired(cloud: Cloud) -> None:
    cell = two_hosts(cloud)
    row, instance = cell.instance("h1")
    (first, second) = sorted(cloud.books.list_providers(), key=lambda one: one.name)
    both = {first.uuid: {"VCPU": 1}, second.uuid: {"VCPU": 1}}
    said = ConsumerAllocations(instance, both, "project", "user", None)
    cloud.books.set_allocations([said])
    number, _ = migration(
        cell, instance, status="pre-migrating", migration_type="evacuation"
    )
    cloud.feed()
    assert audited(cloud).findings == (), "it is being built"
    cell.change("instances", row, host="h2", node="h2")
    cell.change("migrations", number, status="done")
    until(lambda: bool(leaks(cloud)) and bool(leaks(cloud)[0].repair))
    (found,) = audited(cloud).findings
    assert (found.host, found.instance_uuid) == ("h1", instance)
    cloud.books.repair(found, grace_s=0.0)
    kept = cloud.books.get_allocations(instance)
    assert kept is not None and set(kept.allocations) == {second.uuid}


@pytest.mark.parametrize(
    ("broken", "goes_on"),
    [
        ({"uuid": None}, {"instance"}),
        ({"uuid": "job-1"}, {"instance"}),
        ({"uuid": BROKEN}, {"instance"}),
        ({"instance_uuid": BROKEN}, {"migration"}),
        ({"instance_uuid": None}, {"migration"}),
        ({"source_compute": BROKEN}, {"migration", "instance"}),
        ({"source_compute": None, "dest_compute": None}, {"migration", "instance"}),
        ({"source_compute": "gone", "dest_compute": BROKEN}, {"migration", "instance"}),
        ({"status": BROKEN}, {"migration", "instance"}),
        ({"status": None}, {"migration", "instance"}),
        ({"created_at": "no time"}, {"migration", "instance"}),
    ],
)
def test_what_cannot_be_read_of_a_migration_costs_itself_alone(
    cloud: Cloud, broken: dict[str, Any], goes_on: set[str]
) -> None:
    cell = two_hosts(cloud)
    _, instance = cell.instance("h2")
    _, other = cell.instance("h2")
    number, uuid = migration(cell, instance)
    _, second = migration(cell, other)
    force(cell, "migrations", f"id = {number}", **broken)
    feed = cloud.feed()
    names = {"instance": instance, "migration": uuid}
    assert told(cloud.books) == {other, second} | {names[one] for one in goes_on}
    assert feed.counts()["refused"] == feed.counts()["cell_failures"] == 0
    is_wrong = any(one in ("job-1", BROKEN) for one in broken.values())
    is_named = f"row {number} of migrations" in feed.notice()
    assert is_named == (is_wrong and "status" not in broken)
    assert cloud.books.verify().problems == ()


def test_moves_are_told_where_they_are_new(cloud: Cloud) -> None:
    cell = two_hosts(cloud)
    _, instance = cell.instance("h1")
    _, feed = stopped(cloud)
    number, uuid = migration(cell, instance)
    with feed.turn:
        feed.round()
    assert told(cloud.books) == {instance, uuid}
    revision = cloud.books.revision
    cell.change("migrations", number, memory_total=7)
    with feed.turn:
        feed.round()
    assert cloud.books.revision == revision
    cell.remove("migrations", number)
    with feed.turn:
        feed.round()
    assert told(cloud.books) == set()


def test_each_migration_is_found_once_it_is_committed(cloud: Cloud) -> None:
    """By its id, also if that is committed late, by when it was written, and where all
    are read."""
    cell = two_hosts(cloud)
    _, instance = cell.instance("h1")
    _, feed = stopped(cloud)
    database: NovaDatabase = feed.database
    long_ago, at = now() - timedelta(hours=9), now()
    reader = Moves(timedelta(minutes=60))

    def seen(since: timedelta, later: timedelta = timedelta()) -> set[int]:
        found = reader.read(database, at - since, at + later)
        reader.take(found)
        return set(found.rows)

    soon = timedelta(seconds=10)
    assert seen(soon) == set()
    migration(cell, instance, id=500, created_at=long_ago)
    assert seen(soon) == {500}
    migration(cell, instance, id=450, created_at=long_ago)
    assert seen(soon) == {450, 500}, "it was committed late"
    migration(cell, instance, id=7, updated_at=at)
    assert seen(soon) == {7, 450, 500}
    migration(cell, instance, id=8, created_at=long_ago)
    assert seen(soon) == {7, 450, 500}
    assert seen(soon, timedelta(minutes=61)) == {7, 8, 450, 500}
    cell.change("migrations", 450, status="failed", updated_at=long_ago)
    cell.soft_delete("migrations", 500)
    assert seen(soon) == {7, 8}


def test_a_host_that_comes_later_is_told_what_moves(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    hosted(cloud, cell, "h1")
    _, instance = cell.instance("h1")
    _, uuid = migration(cell, instance)
    feed = cloud.feed()
    hosted(cloud, cell, "h2")
    until(lambda: feed.counts()["hosts"] == 2)

    def of(host: str) -> set[str]:
        return cloud.books.read(
            lambda state: {
                one
                for row in state.fleet.hosts.rows_of(host)
                for one in state.fleet.hosts.stats[row].get(MOVING, ())
            }
        )

    until(lambda: of("h1") == of("h2") == {instance, uuid})


def test_a_move_that_cannot_be_is_refused_by_itself(cloud: Cloud) -> None:
    cloud.books.update_host("h1", "h1", HostStats(vcpus=1))
    good, bad = Move(str(uuid4())), Move("job-1")
    (refused,) = cloud.books.set_fleet(FleetStatement(moves={"h1": (good, bad)}))
    assert "job-1" in refused.what and "UUID" in refused.why
    assert told(cloud.books) == {good.instance_uuid}
