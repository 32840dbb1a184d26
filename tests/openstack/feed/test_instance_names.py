"""Names and projects of instances: read, found, forgotten, and in no line of a log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from gantt.model.fleet_lists import InstanceQuery
from gantt.model.hosts import InstanceView
from gantt.openstack.rpc.methods import SchedulerMethods
from tests.openstack.feed.conftest import Cloud
from tests.waiting import until

PROJECT = "0123456789abcdef0123456789abcdef"
NAME = "Secret-web-17"


def found(cloud: Cloud, text: str, **more: Any) -> tuple[InstanceView, ...]:
    return cloud.books.list_instances(InstanceQuery(search=text, **more))


def facts(cloud: Cloud, uuid: str) -> str:
    return cloud.books.read(
        lambda state: str(state.fleet.instances.by_uuid[uuid].facts)
    )


def cast(cloud: Cloud, source: Any, host: str, uuid: str, **fields: Any) -> None:
    """Nova's compute tells all schedulers of an instance."""
    data = {"uuid": uuid, **fields}
    told = {
        "nova_object.name": "Instance",
        "nova_object.namespace": "nova",
        "nova_object.version": "2.8",
        "nova_object.data": data,
    }
    whole = {
        "nova_object.name": "InstanceList",
        "nova_object.namespace": "nova",
        "nova_object.version": "2.6",
        "nova_object.data": {"objects": [told]},
    }
    SchedulerMethods(cloud.books, source).update_instance_info({}, host, whole)


def test_an_instance_is_found_by_name_uuid_part_and_project(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    _, uuid = cell.instance("h1", display_name=NAME, project_id=PROJECT)
    _, other = cell.instance("h1", display_name="db-1", project_id="other")
    cloud.feed()
    for text in (NAME, "web-17", "SECRET", uuid, uuid[3:20], uuid.upper(), PROJECT):
        (one,) = found(cloud, text)
        assert (one.uuid, one.name, one.project_id) == (uuid, NAME, PROJECT)
        assert (one.host, one.node, one.state) == ("h1", "h1", "named")
    dashed = "01234567-89ab-cdef-0123-456789abcdef"
    assert [one.uuid for one in found(cloud, dashed)] == [uuid]
    assert found(cloud, "web", project_id="other") == ()
    assert found(cloud, "web", names=False) == ()
    (bare,) = found(cloud, other, names=False)
    assert bare.name is None
    assert len(found(cloud, "-", limit=1)) == 1
    (host,) = cloud.books.list_hosts()
    whole = cloud.books.whole_host(host.host, host.node)
    assert whole.names == {uuid: NAME, other: "db-1"}


def test_a_new_name_is_read_and_other_facts_stay(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    key, uuid = cell.instance("h1", display_name="old", project_id=PROJECT)
    feed = cloud.feed()
    cast(cloud, feed, "h1", uuid, display_name="old", system_metadata={"image_a": "b"})
    assert '"image_properties":{"a":"b"}' in facts(cloud, uuid)
    cell.change("instances", key, display_name="new")
    until(lambda: found(cloud, "new"))
    assert '"image_properties":{"a":"b"}' in facts(cloud, uuid)
    assert found(cloud, "old") == ()


def test_names_that_are_not_to_be_kept_are_forgotten(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    _, uuid = cell.instance("h1", display_name=NAME, project_id=PROJECT)
    feed = cloud.feed()
    assert found(cloud, NAME)
    feed.stop()
    feed = cloud.feed(feed_names=False)
    assert facts(cloud, uuid) == "{}"
    cast(cloud, feed, "h1", uuid, display_name=NAME, project_id=PROJECT)
    assert facts(cloud, uuid) == "{}"
    assert found(cloud, NAME) == ()


def test_casts_bring_names_also_such_as_cannot_be_kept(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    feed = cloud.feed(feed_interval=60.0)
    odd: list[Any] = ["a\0b", "l" * 300, "\ud800", 7, None, ["x"]]
    kept: list[str | None] = ["ab", "l" * 255, "?", None, None, None]
    for number, (name, expected) in enumerate(zip(odd, kept, strict=True)):
        uuid = f"{number:08}-0000-4000-8000-000000000000"
        cast(cloud, feed, "h1", uuid, display_name=name)
        (one,) = cloud.books.list_instances(InstanceQuery(uuid=uuid))
        assert one.name == expected


def test_no_line_of_the_log_has_a_name(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is read of it, and whatever of its row cannot be."""
    caplog.set_level(logging.DEBUG, logger="gantt")
    cell = cloud.cell("one")
    cell.host("h1")
    odd = f"{NAME}\x01{'x' * 200}"
    _, uuid = cell.instance("h1", display_name=odd, project_id="p" * 200)
    cell.instance("h1", uuid="no-uuid", display_name=NAME)
    feed = cloud.feed()
    cast(cloud, feed, "h1", uuid, display_name=f"{NAME}\0", flavor="no flavor")
    cast(cloud, feed, "h1", "no-uuid", display_name=NAME)
    until(lambda: found(cloud, "secret"))
    assert "cannot be read" in caplog.text, "there were lines about these rows"
    assert NAME not in caplog.text
