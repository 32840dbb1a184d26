"""Rows that are unusual, and hosts that are not there."""

from __future__ import annotations

import pytest

from gantt.conf.feed_settings import FLAVOR, IMAGE
from tests.openstack.feed.conftest import Cloud
from tests.waiting import until

NAMES = ["UPPER.example", "upper.example", "höst-ß", "计算-1"]


def test_names_are_taken_as_they_are(cloud: Cloud) -> None:
    """Also those that differ by case only."""
    cell = cloud.cell("one")
    placed = {}
    for name in NAMES:
        cell.host(name)
        _, placed[name] = cell.instance(name)
        cloud.api.add("host_mappings", host=name, cell_id=cloud.numbers["one"])
    cloud.api.aggregate("a", NAMES)
    feed = cloud.feed()
    known = {one.host: one for one in cloud.books.list_hosts()}
    assert sorted(known) == sorted(NAMES)
    for name in NAMES:
        assert known[name].node == name
        assert known[name].instances == (placed[name],)
        assert len(known[name].aggregates) == 1
    _, second = cell.instance("höst-ß")
    feed.reread_instances("höst-ß")  # or a round does it that is under way

    def instances() -> set[str]:
        known = {one.host: one for one in cloud.books.list_hosts()}
        return set(known["höst-ß"].instances)

    until(lambda: instances() == {placed["höst-ß"], second})
    assert cloud.books.verify().problems == ()


def test_a_cloud_without_hosts_is_known_as_such(cloud: Cloud) -> None:
    feed = cloud.feed()
    assert feed.unready() == ""
    assert cloud.books.list_hosts() == ()
    cell = cloud.cell("one")
    until(lambda: feed.counts()["cell_rounds"] > 1)
    assert feed.counts()["cell_failures"] == 0
    node = cell.host("h1")
    until(lambda: len(cloud.books.list_hosts()) == 1)
    cell.soft_delete("compute_nodes", node)
    cell.soft_delete("services", 1)
    until(lambda: cloud.books.list_hosts() == ())


def test_null_values_are_read(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    cell = cloud.cell("one")
    flavor = cloud.api.add(
        "flavors",
        name="f",
        flavorid="f1",
        memory_mb=1,
        vcpus=1,
        swap=0,
        rxtx_factor=None,
        vcpu_weight=None,
        description=None,
        is_public=True,
    )
    cloud.api.add("flavor_extra_specs", flavor_id=flavor, key="k", value=None)
    cell.service("h1", last_seen_up=None, version=None, topic=None)
    nullable = ("host_ip", "cpu_info", "stats", "metrics", "supported_instances")
    amounts = ("free_ram_mb", "disk_available_least", "cpu_allocation_ratio")
    kept = {"cpu_info"}  # Nova's own table refuses a null there
    cell.node("h1", **dict.fromkeys({*nullable, *amounts} - kept))
    _, uuid = cell.instance("h1", instance_type_id=flavor, image_ref=None)
    cell.add(
        "instance_system_metadata",
        instance_uuid=uuid,
        key="image_os_type",
        value=None,
        deleted=0,
    )
    feed = cloud.feed(facts=frozenset({FLAVOR, IMAGE}))
    (host,) = cloud.books.list_hosts()
    assert host.instances == (uuid,)
    assert host.stats["vcpus"] == 64
    assert feed.counts()["cell_failures"] == feed.counts()["unreadable"] == 0
    assert "cannot be read" not in caplog.text
