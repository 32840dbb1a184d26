"""Rows that cannot be read: each is named, errs on the safe side, and costs no other
row."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from gantt.conf.feed_settings import FLAVOR, IMAGE
from gantt.errors import NoValidHost
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed
from tests.openstack.feed.conftest import Cloud
from tests.openstack.feed.nova_databases import NovaDatabase, now
from tests.waiting import until

ZERO = "0000-00-00 00:00:00"
BROKEN = "x\0y"


def force(database: NovaDatabase, table: str, where: str = "", **values: Any) -> None:
    """Write what Nova would not."""
    sets = ", ".join(f"{name} = :{name}" for name in values)
    statement = f"UPDATE {table} SET {sets} {where and 'WHERE ' + where}"
    with database.engine.connect() as connection:
        connection.execute(sa.text(statement), values)


def chosen(cloud: Cloud) -> str | None:
    """The host that a small request is given; None: none."""
    spec = RequestSpec(flavor=Flavor(vcpus=1, memory_mb=64))
    try:
        ((first, *_),) = cloud.books.schedule(ScheduleRequest(spec, dry_run=True))
    except NoValidHost:
        return None
    return first.service_host


def assert_read(cloud: Cloud, feed: Feed, *named: str) -> None:
    """The cell is read, h2 known and ``named`` in what is told."""
    (cell,) = feed.cells()
    assert cell.failure == ""
    assert {"h2"} <= {one.host for one in cloud.books.list_hosts()}
    assert feed.unready() == ""
    for text in named:
        assert text in feed.notice()
    assert feed.counts()["refused"] == 0
    assert cloud.books.verify().problems == ()


DATES = [
    ("services", "last_seen_up"),
    ("services", "created_at"),
    ("services", "updated_at"),
    ("compute_nodes", "updated_at"),
    ("compute_nodes", "created_at"),
    ("instances", "updated_at"),
    ("instances", "created_at"),
    ("migrations", "updated_at"),
]


@pytest.mark.parametrize(("table", "column"), DATES)
@pytest.mark.parametrize("value", [ZERO, "2026-00-31 00:00:00", "no time at all"])
def test_a_date_that_is_none_costs_its_row_alone(
    cloud: Cloud, table: str, column: str, value: str
) -> None:
    cell = cloud.cell("one")
    for host in ("h1", "h2"):
        cell.host(host)
        _, uuid = cell.instance(host)
    cell.add("migrations", instance_uuid=uuid, dest_compute="h1", status="error")
    force(cell, table, "id = 1", **{column: value})
    feed = cloud.feed()
    assert_read(cloud, feed)
    assert {one.host: len(one.instances) for one in cloud.books.list_hosts()} == {
        "h1": 1,
        "h2": 1,
    }
    third = cell.host("h3")
    until(lambda: len(cloud.books.list_hosts()) == 3)
    assert third == 3
    assert_read(cloud, feed)


@pytest.mark.parametrize("broken", ["job-2", BROKEN, "", "n" * 300])
def test_a_migration_of_no_instance_stops_nothing(cloud: Cloud, broken: str) -> None:
    cell = cloud.cell("one")
    cell.host("h2")
    for uuid in (broken, MEMBER):
        values = {"dest_compute": "h2", "status": "error", "updated_at": now()}
        cell.add("migrations", instance_uuid=uuid, **values)
    feed = cloud.feed()
    until(lambda: feed.counts()["cell_rounds"] > 1)
    assert feed.counts()["cell_failures"] == 0
    assert_read(cloud, feed)


API_DATES = ["aggregates", "aggregate_hosts", "instance_groups", "host_mappings"]


@pytest.mark.parametrize("table", API_DATES)
def test_a_date_of_the_api_database_that_is_none_stops_nothing(
    cloud: Cloud, table: str
) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    cell.host("h2")
    cloud.api.aggregate("a", ["h1"], availability_zone="z")
    cloud.api.group("affinity", ["8d3b4ae0-9c7b-4a9e-8d53-6b2a4b7a4d0e"])
    cloud.api.add("host_mappings", host="h1", cell_id=cloud.numbers["one"])
    force(cloud.api, table, created_at=ZERO)
    feed = cloud.feed()
    assert_read(cloud, feed)
    cloud.api.aggregate("b", ["h2"])
    until(lambda: len(cloud.books.list_host_aggregates()) == 2)
    assert feed.counts()["failures"] == 0


SERVICES: list[dict[str, Any]] = [
    {"last_seen_up": "1969-12-31 23:00:00"},
    {"last_seen_up": ZERO},
    {"last_seen_up": "soon"},
    {"disabled": True, "disabled_reason": BROKEN},
    {"disabled": True, "disabled_reason": "r" * 70_000},
    {"forced_down": True, "disabled_reason": BROKEN, "disabled": True},
    {"disabled": True, "version": "new"},
    {"forced_down": True, "version": 2**40},
    {"forced_down": True, "last_seen_up": "1969-12-31 23:00:00"},
]


@pytest.mark.parametrize("broken", SERVICES)
def test_a_service_that_cannot_be_read_takes_no_instances(
    cloud: Cloud, broken: dict[str, Any]
) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    feed = cloud.feed()
    assert chosen(cloud) == "h1"
    force(cell, "services", "host = 'h1'", **broken)
    until(lambda: chosen(cloud) is None)
    cell.host("h2")
    until(lambda: chosen(cloud) == "h2")
    assert_read(cloud, feed, "service of host h1")


def test_a_service_is_up_again_once_it_can_be_read(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cell = cloud.cell("one")
    cell.host("h2")
    force(cell, "services", last_seen_up=ZERO)
    feed = cloud.feed()
    assert chosen(cloud) is None
    assert_read(cloud, feed, "service of host h2", "last_seen_up")
    rounds = feed.counts()["cell_rounds"]
    until(lambda: feed.counts()["cell_rounds"] > rounds + 2)
    assert caplog.text.count("service of host h2") == 1
    assert feed.counts()["unreadable"] == 1
    cell.change("services", 1, last_seen_up=now())
    until(lambda: feed.notice() == "")
    assert chosen(cloud) == "h2"


def test_a_bad_member_costs_an_aggregate_nothing_else(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    cell.host("h2")
    _, uuid = cloud.api.aggregate(
        "a", ["h1", "", BROKEN], availability_zone="z", bad=BROKEN
    )
    force(cloud.api, "aggregates", name="n" * 300 + "\0")
    feed = cloud.feed()
    (known,) = cloud.books.list_host_aggregates()
    assert (known.uuid, known.hosts) == (uuid, frozenset({"h1"}))
    assert known.metadata == {"availability_zone": "z", "bad": "xy"}
    assert_read(cloud, feed, f"aggregate {uuid}")


def test_an_aggregate_that_cannot_be_named_leaves_the_others(cloud: Cloud) -> None:
    cloud.cell("one").host("h2")
    number, _ = cloud.api.aggregate("a", ["h2"])
    _, good = cloud.api.aggregate("b", ["h2"])
    force(cloud.api, "aggregates", f"id = {number}", uuid="no uuid")
    feed = cloud.feed()
    (known,) = cloud.books.list_host_aggregates()
    assert known.uuid == good
    assert_read(cloud, feed, f"row {number} of aggregates")


MEMBER = "8d3b4ae0-9c7b-4a9e-8d53-6b2a4b7a4d0e"
ONE = frozenset({MEMBER})
RULES = [
    "{",
    '{"max_server_per_host": 1e999}',
    "[" * 60_000,
    '{"max_server_per_host": []}',
]


@pytest.mark.parametrize("rules", RULES)
def test_a_bad_member_costs_a_group_nothing_else(cloud: Cloud, rules: str) -> None:
    cloud.cell("one").host("h2")
    _, uuid = cloud.api.group("anti-affinity", [MEMBER, "", BROKEN, "job-2"], rules)
    feed = cloud.feed()
    (known,) = cloud.books.list_server_groups()
    assert (known.uuid, known.members) == (uuid, ONE)
    assert (known.policy, known.max_server_per_host) == ("anti-affinity", 1)
    assert_read(cloud, feed, f"server group {uuid}")


def test_a_policy_that_is_none_costs_a_group_its_policy(cloud: Cloud) -> None:
    cloud.cell("one").host("h2")
    _, uuid = cloud.api.group("near", [MEMBER])
    feed = cloud.feed()
    (known,) = cloud.books.list_server_groups()
    assert (known.uuid, known.members, known.policy) == (uuid, ONE, None)
    assert_read(cloud, feed, f"server group {uuid}", "near")


INSTANCES: list[dict[str, Any]] = [
    {"uuid": "no uuid"},
    {"uuid": BROKEN},
    {"host": BROKEN},
    {"host": "h" * 300},
]


@pytest.mark.parametrize("broken", INSTANCES)
def test_an_instance_that_cannot_be_read_leaves_the_others(
    cloud: Cloud, broken: dict[str, Any]
) -> None:
    cell = cloud.cell("one")
    cell.host("h2")
    key, _ = cell.instance("h2")
    _, good = cell.instance("h2")
    force(cell, "instances", f"id = {key}", **broken)
    feed = cloud.feed()
    (host,) = cloud.books.list_hosts()
    assert host.instances == (good,)
    assert_read(cloud, feed, f"row {key} of instances")


def test_facts_that_cannot_be_read_leave_the_instance(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h2")
    _, uuid = cell.instance("h2", instance_type_id=1)
    cell.add(
        "instance_system_metadata",
        instance_uuid=uuid,
        key="image_os_type",
        value="v" * 70_000,
        deleted=0,
    )
    feed = cloud.feed(facts=frozenset({FLAVOR, IMAGE}))
    (host,) = cloud.books.list_hosts()
    assert host.instances == (uuid,)
    assert_read(cloud, feed, f"instance {uuid}")


NODES: list[dict[str, Any]] = [
    {"host": "h" * 300},
    {"host": BROKEN},
    {"hypervisor_hostname": "n" * 300},
    {"hypervisor_hostname": BROKEN},
]


@pytest.mark.parametrize("broken", NODES)
def test_a_host_that_cannot_be_named_leaves_the_others(
    cloud: Cloud, broken: dict[str, Any]
) -> None:
    cell = cloud.cell("one")
    key = cell.host("h1")
    cell.host("h2")
    force(cell, "compute_nodes", f"id = {key}", **broken)
    feed = cloud.feed()
    assert [one.host for one in cloud.books.list_hosts()] == ["h2"]
    assert_read(cloud, feed, f"row {key} of compute_nodes")


VALUES: list[dict[str, Any]] = [
    {"vcpus": "many"},
    {"vcpus": -1},
    {"memory_mb": 2**40},
    {"uuid": "no uuid"},
    {"host_ip": BROKEN},
    {"cpu_info": "[" * 60_000},
    {"stats": '{"num_instances": 1e999}'},
    {"metrics": '[{"name": "a", "value": 1e999}]'},
    {"pci_stats": '{"a": NaN}'},
    {"numa_topology": "{}}"},
    {"cpu_allocation_ratio": "much"},
    {"extra_resources": "1" * 5000},
]


@pytest.mark.parametrize("broken", VALUES)
def test_a_value_that_cannot_be_read_costs_itself_alone(
    cloud: Cloud, broken: dict[str, Any]
) -> None:
    cell = cloud.cell("one")
    key = cell.host("h1")
    cell.host("h2")
    force(cell, "compute_nodes", f"id = {key}", **broken)
    feed = cloud.feed()
    (known, _) = cloud.books.list_hosts()
    assert known.stats["memory_mb_used"] == 512
    assert_read(cloud, feed, f"{next(iter(broken))} of host h1")


@pytest.mark.parametrize(
    "broken", [{"instance_uuid": BROKEN}, {"dest_compute": BROKEN}]
)
def test_a_migration_that_cannot_be_read_leaves_the_others(
    cloud: Cloud, broken: dict[str, str]
) -> None:
    cell = cloud.cell("one")
    cell.host("h2")
    cell.add(
        "migrations",
        **{"instance_uuid": MEMBER, "dest_compute": "h2", "status": "error"} | broken,
    )
    force(cell, "migrations", updated_at="2999-01-01 00:00:00.000000")
    assert_read(cloud, cloud.feed())


@pytest.mark.parametrize("url", ["{port.nothing}", "{hostname[0]!x}", "sqlite://{0}"])
def test_a_cell_whose_url_cannot_be_read_leaves_the_others(
    cloud: Cloud, url: str
) -> None:
    cloud.cell("one").host("h2")
    cloud.api.map_cell("two", url)
    number, _ = cloud.api.map_cell("three", "sqlite:////nowhere")
    force(cloud.api, "cell_mappings", f"id = {number}", uuid="")
    feed = cloud.feed(database_url="sqlite:////nowhere")
    assert [one.host for one in cloud.books.list_hosts()] == ["h2"]
    assert {one.name: bool(one.failure) for one in feed.cells()} == {
        "one": False,
        "two": True,
    }
    assert "cell_mappings" in feed.notice()
