"""Random writes: after each round Gantt knows what a full reading would."""

from __future__ import annotations

import json
import logging
import random
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from gantt.openstack.feed import Feed, nova_tables
from gantt.openstack.feed.cell_feed import COUNT_EVERY, CellFeed
from gantt.openstack.feed.cloud_feed import check_versions, release_of
from gantt.openstack.feed.live_rows import LiveRows
from gantt.openstack.feed.migrations import Migrations
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import CellDatabase, node_values, now
from tests.topology import synthetic
from tests.waiting import until


def stopped(cloud: Cloud, **options: Any) -> tuple[Feed, CellFeed]:
    """A feed of one cell whose rounds the test carries out."""
    feed = cloud.feed(feed_interval=3600.0, **options)
    (cell,) = feed._cells.values()
    return feed, cell


class Nova:
    """Writes like Nova's services, at random; hosts keep their names."""

    def __init__(self, cell: CellDatabase, rng: random.Random) -> None:
        self.cell, self.rng = cell, rng
        self.nodes: dict[int, str] = {}
        self.services: dict[str, int] = {}
        self.instances: list[int] = []

    def step(self) -> None:
        rng = self.rng
        rng.choice(
            [
                self.add_host,
                self.report,
                self.report,
                self.remove_host,
                self.boot,
                self.boot,
                self.move,
                self.delete,
                self.beat,
            ]
        )()

    def add_host(self) -> None:
        free = {f"h{number}" for number in range(6)} - set(self.nodes.values())
        if free:
            host = self.rng.choice(sorted(free))
            self.nodes[self.cell.node(host, vcpus=self.rng.randrange(99))] = host
            self.services[host] = self.cell.service(host)

    def report(self) -> None:
        if self.nodes:
            key = self.rng.choice(sorted(self.nodes))
            self.cell.change("compute_nodes", key, vcpus_used=self.rng.randrange(99))

    def remove_host(self) -> None:
        if self.nodes:
            key = self.rng.choice(sorted(self.nodes))
            host = self.nodes.pop(key)
            self.cell.soft_delete("compute_nodes", key)
            self.cell.soft_delete("services", self.services.pop(host))

    def boot(self) -> None:
        host = self.rng.choice([None, "h0", "h1", "h2", "h3"])
        self.instances.append(self.cell.instance(host)[0])

    def move(self) -> None:
        if self.instances:
            host = self.rng.choice([None, "h0", "h1", "h2", "h3"])
            self.cell.change("instances", self.rng.choice(self.instances), host=host)

    def delete(self) -> None:
        if self.instances:
            key = self.instances.pop(self.rng.randrange(len(self.instances)))
            # Mostly Nova writes before it deletes; then the row is archived.
            if self.rng.random() < 0.8:
                self.cell.change("instances", key, vm_state="deleted")
                self.cell.soft_delete("instances", key)
            else:
                self.cell.remove("instances", key)

    def beat(self) -> None:
        if self.services:
            host = self.rng.choice(sorted(self.services))
            seen = now() - timedelta(seconds=self.rng.choice([0, 300]))
            is_off = self.rng.random() < 0.3
            self.cell.change(
                "services", self.services[host], last_seen_up=seen, disabled=is_off
            )


def fleet(books: Any) -> dict[str, Any]:
    return {
        one.host: (one.node, one.stats, one.instances, one.service)
        for one in books.list_hosts()
    }


@pytest.mark.parametrize("seed", range(3))
def test_each_round_ends_as_a_full_reading_would(cloud: Cloud, seed: int) -> None:
    rng = random.Random(seed)
    database = cloud.cell("one")
    nova = Nova(database, rng)
    _, cell = stopped(cloud)
    for turn in range(12):
        for _ in range(rng.randrange(1, 8)):
            nova.step()
        cell.counts["cell_rounds"] = (
            COUNT_EVERY - 1
        )  # a round that counts instances too
        with cell.turn:
            cell.round()
        fresh = cloud.new_books()
        other = cloud.idle_feed(fresh, feed_interval=3600.0)
        other.start()
        other.stop()
        assert fleet(cloud.books) == fleet(fresh), f"seed {seed}, turn {turn}"
    assert cloud.books.verify().problems == ()


def test_rows_of_the_same_second_are_not_lost(cloud: Cloud) -> None:
    """The second write comes after the reading, and bears the same time."""
    database = cloud.cell("one")
    key = database.host("h1")
    _, cell = stopped(cloud)
    moment = now()
    for vcpus in (10, 11, 12):
        database.change("compute_nodes", key, vcpus=vcpus, updated_at=moment)
        with cell.turn:
            cell.round()
        (host,) = cloud.books.list_hosts()
        assert host.stats["vcpus"] == vcpus


def test_a_writer_whose_clock_is_behind_is_not_missed(cloud: Cloud) -> None:
    database = cloud.cell("one")
    key = database.host("h1")
    _, cell = stopped(cloud, feed_overlap=10.0)
    behind = now() - timedelta(seconds=8)
    database.change("compute_nodes", key, vcpus=10, updated_at=behind)
    with cell.turn:
        cell.round()
    (host,) = cloud.books.list_hosts()
    assert host.stats["vcpus"] == 10


# So short that each round reads all rows again.
AT_ONCE = {"feed_full_interval": 1e-6}
LONG_AGO = timedelta(hours=1)


def late_writes(cloud: Cloud, database: CellDatabase, rows: dict[str, int]) -> None:
    """As a transaction that is committed an hour after it wrote its times."""
    late = now() - LONG_AGO * 0.9
    database.change("compute_nodes", rows["node"], vcpus=65, updated_at=late)
    database.change("instances", rows["instance"], host="h2", updated_at=late)
    cloud.api.change("aggregate_metadata", 1, value="later", updated_at=late)


def known(cloud: Cloud) -> tuple[int, int, object]:
    """The vcpus of h1, the number of instances on h2, a property of an aggregate."""
    first, second = cloud.books.list_hosts()
    (aggregate,) = cloud.books.list_host_aggregates()
    return first.stats["vcpus"], len(second.instances), aggregate.metadata["key"]


@pytest.mark.parametrize(
    ("options", "found"),
    [(AT_ONCE, (65, 1, "later")), ({"feed_full_interval": 0}, (64, 0, "value"))],
)
def test_what_is_committed_long_after_its_time_is_found(
    cloud: Cloud,
    options: dict[str, float],
    found: object,
    caplog: pytest.LogCaptureFixture,
) -> None:
    database, long_ago = cloud.cell("one"), now() - LONG_AGO
    rows = {"node": database.host("h1", created_at=long_ago)}
    database.host("h2", created_at=long_ago)
    rows["instance"], _ = database.instance("h1", created_at=long_ago)
    cloud.api.aggregate("a", ["h1"], key="value", other="")
    for key in (1, 2):
        times = {"created_at": long_ago, "updated_at": now() - LONG_AGO / 2}
        cloud.api.change("aggregate_metadata", key, **times)
    for table in ("aggregates", "aggregate_hosts"):
        cloud.api.change(table, 1, created_at=long_ago, updated_at=None)
    feed, cell = stopped(cloud, **options)
    feed._api.round()  # what was read at the start is no longer fresh
    late_writes(cloud, database, rows)
    for _ in range(2):
        feed._api.round()
        with cell.turn:
            cell.round()
    assert known(cloud) == found
    missed = 2 if options is AT_ONCE else 0
    assert feed.counts()["missed"] == missed
    assert caplog.text.count("take longer than feed_overlap") == (missed > 0)
    revision = cloud.books.revision
    with cell.turn:
        cell.round()
    assert cloud.books.revision == revision


def test_reading_again_costs_one_full_reading_spread_evenly(cloud: Cloud) -> None:
    database, long_ago = cloud.cell("one"), now() - LONG_AGO
    for number in range(20):
        database.node(f"h{number}", created_at=long_ago)
    feed, cell = stopped(cloud)
    feed.stop()
    t = nova_tables.NODES.c
    rows = LiveRows(nova_tables.NODES, [t.host], tuple, again_s=100.0)
    rows.take(rows.read(cell.database, None, at=0.0))
    read = []
    for at in range(1, 401):
        found = rows.read(cell.database, now(), at=float(at))
        rows.take(found)
        assert found.again is not None and not found.new
        read.append(found.again.rows)
    assert sum(read) == 4 * 20
    assert max(read) == 1


def test_a_failed_migration_is_found_late_and_told_once(cloud: Cloud) -> None:
    database = cloud.cell("one")
    database.host("h1")
    _, cell = stopped(cloud)
    number = database.add(
        "migrations",
        instance_uuid=node_values("x")["uuid"],
        source_compute="h0",
        dest_compute="h1",
        status="migrating",
        migration_type="migration",
        deleted=0,
    )
    late = now() - timedelta(minutes=20)
    database.change("migrations", number, status="error", updated_at=late)
    overlap, span = timedelta(seconds=10), timedelta(minutes=60)
    reader, told = Migrations(overlap, span), []
    for minutes in range(-50, 150):  # the first reading comes before it failed
        at = now() + timedelta(minutes=minutes)
        told.append(len(reader.read(cell.database, at - overlap, at)))
        reader.take()
    assert sum(told) == 1


def test_a_round_without_changes_reads_next_to_nothing(cloud: Cloud) -> None:
    database = cloud.cell("one")
    long_ago = now() - timedelta(hours=1)
    for number in range(20):
        host = f"h{number}"
        database.service(host, created_at=long_ago, version=74)
        database.node(host, created_at=long_ago)
        database.instance(host, created_at=long_ago)
    _, cell = stopped(cloud)
    rows: list[int] = []

    @sa.event.listens_for(cell.database._engine, "after_cursor_execute")
    def count(*_: Any) -> None:
        rows.append(1)

    revision = cloud.books.revision
    with cell.turn:
        cell.round()
    # services: 2; nodes: written, made, deleted, counted; instances: the first three;
    # migrations: ended, made, written.
    assert len(rows) == 12
    assert cloud.books.revision == revision


def test_a_heartbeat_alone_is_not_passed_on(cloud: Cloud) -> None:
    database = cloud.cell("one")
    database.node("h1")
    service = database.service("h1")
    _, cell = stopped(cloud)
    revision = cloud.books.revision
    database.change("services", service, report_count=2, last_seen_up=now())
    with cell.turn:
        cell.round()
    assert cloud.books.revision == revision


def test_a_row_that_cannot_be_read_costs_only_its_column(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    database = cloud.cell("one")
    database.host("h1", cpu_info="{oops", stats="", numa_topology="[]")
    database.host("h2")
    with caplog.at_level(logging.WARNING):
        cloud.feed()
    first, second = cloud.books.list_hosts()
    assert (first.stats["cpu_info"], first.stats["stats"]) == (None, None)
    assert first.stats["vcpus"] == 64
    assert second.stats["cpu_info"]["model"] == "EPYC"
    assert "cpu_info of host h1, node h1 (stats.cpu_info must be" in caplog.text


def test_a_topology_that_cannot_be_costs_only_itself(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    database, good = cloud.cell("one"), synthetic.nova_form(synthetic.four_cells())
    bad = synthetic.nova_form(synthetic.four_cells())
    first, second, *_ = bad["numa_topology"]["nova_object.data"]["cells"]
    second["nova_object.data"]["id"] = first["nova_object.data"]["id"]
    pools = json.dumps([{"count": 1, "vendor_id": "1", "product_id": "1"}])
    keys = []
    for host, topology in (("h1", bad), ("h2", good)):
        text = json.dumps(topology["numa_topology"])
        keys.append(database.host(host, numa_topology=text, pci_stats=pools))
    with caplog.at_level(logging.WARNING):
        feed = cloud.feed()
    refused, taken = cloud.books.list_hosts()
    assert refused.stats["numa_topology"] is None
    assert refused.stats["pci_stats"] == taken.stats["pci_stats"] != []
    assert taken.stats["numa_topology"] == good["numa_topology"]
    assert feed.counts()["unreadable"] == 1
    assert "cells.1.id is 0, as of another cell" in caplog.text
    view = cloud.books.host_topology("h1", "h1")
    assert "cells.1.id is 0" in view.unreadable["numa_topology"]
    database.change("compute_nodes", keys[0], numa_topology=text, updated_at=now())
    until(lambda: not cloud.books.host_topology("h1", "h1").unreadable)


def test_a_failed_migration_ends_the_promise_of_its_target(cloud: Cloud) -> None:
    from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest

    database = cloud.cell("one")
    database.node("h1")
    database.service("h1", version=72)
    _, instance = database.instance("h0")
    cloud.feed()
    spec = RequestSpec(flavor=Flavor(vcpus=1), project_id="p", user_id="u")
    cloud.books.schedule(ScheduleRequest(spec, (instance,)))

    def promised() -> int:
        (host,) = cloud.books.list_hosts()
        return int(host.claimed["instances"])

    migration = database.add(
        "migrations",
        uuid=None,
        instance_uuid=instance,
        source_compute="h0",
        dest_compute="h1",
        status="migrating",
        migration_type="migration",
        deleted=0,
    )
    assert promised() == 1
    database.change("migrations", migration, status="error")
    until(lambda: promised() == 0)


def test_a_node_that_moves_takes_its_provider_along(cloud: Cloud) -> None:
    database = cloud.cell("one")
    database.service("s1")
    database.service("s2")
    key = database.node("s1", hypervisor_hostname="n")
    uuid = node_values("x")["uuid"]
    database.change("compute_nodes", key, uuid=uuid)
    _, cell = stopped(cloud)
    database.change("compute_nodes", key, host="s2")
    with cell.turn:
        cell.round()
    (host,) = cloud.books.list_hosts()
    assert (host.host, host.node, host.provider_uuid) == ("s2", "n", uuid)


def test_releases_out_of_range_are_named() -> None:
    assert check_versions({"a": frozenset({66, 74})}) == ()
    old, new = check_versions({"a": frozenset({61, 70}), "b": frozenset({80})})
    assert "cell a" in old and "61 (Yoga)" in old and "70" not in old.split(";")[0]
    assert "80 (newer than 2026.2)" in new
    assert release_of(69) == "69 (Flamingo)"


def test_an_old_time_is_read_as_utc() -> None:
    from gantt.openstack.feed.row_times import micros

    assert micros(datetime(1970, 1, 1, 0, 0, 1)) == 1_000_000
