"""Casts have no version: what arrives during a reading is newer than the reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gantt.model.hosts import HostAggregate, Instance
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed
from gantt.openstack.feed.notes import MOST, Notes
from gantt.openstack.feed.nova_tables import INSTANCES
from tests.openstack.feed.conftest import Cloud
from tests.waiting import until


def on(cloud: Cloud, host: str) -> tuple[str, ...]:
    (found,) = cloud.books.list_hosts(host=host)
    return found.instances


def test_a_cast_during_the_first_reading_wins(cloud: Cloud, monkeypatch: Any) -> None:
    """The reading saw the instance; then Nova deleted it, and a cast told so."""
    cell = cloud.cell("one")
    cell.host("h1")
    key, instance = cell.instance("h1")
    feed = cloud.idle_feed(feed_interval=30.0)
    from gantt.openstack.feed.nova_connection import NovaDatabase

    rows = NovaDatabase.rows

    def tell_after(self: NovaDatabase, statement: Any) -> Sequence[Any]:
        found = rows(self, statement)
        if INSTANCES in statement.get_final_froms() and len(found) == 1:
            cell.soft_delete("instances", key)
            feed.note_update(host="h1")
            cloud.books.delete_instance("h1", instance)
        return found

    monkeypatch.setattr(NovaDatabase, "rows", tell_after)
    feed.start()
    assert on(cloud, "h1") == ()


def test_a_late_cast_is_put_right_by_the_next_reading(cloud: Cloud) -> None:
    """It tells of what was so before the reading."""
    cell = cloud.cell("one")
    cell.host("h1")
    cell.host("h2")
    _, instance = cell.instance("h2")
    feed = cloud.feed()
    assert on(cloud, "h2") == (instance,)
    feed.note_update(host="h1")
    cloud.books.update_instances("h1", (Instance(instance),))
    feed.note_update(host="h2")
    until(lambda: (on(cloud, "h1"), on(cloud, "h2")) == ((), (instance,)))


@pytest.mark.parametrize("tell", ["update", "sync"])
def test_what_a_cast_names_counts_until_its_host_is_read(
    cloud: Cloud, tell: str
) -> None:
    """A cast says what runs, and nothing of what that takes."""
    cell = cloud.cell("one")
    nodes = {name: cell.host(name) for name in ("h1", "h2")}
    cloud.feed(feed_interval=60.0)
    spec = RequestSpec(Flavor(vcpus=1, memory_mb=64), project_id="p", user_id="u")
    left = cloud.books.read(lambda state: int(state.fleet.hosts.free_ram_mb[0]))

    def place(uuid: str) -> str:
        (found,) = cloud.books.schedule(ScheduleRequest(spec, (uuid,)))
        return found[0].service_host

    def free(host: str) -> int:
        def look(state: Any) -> int:
            (row,) = state.fleet.hosts.rows_of(host)
            return int(state.fleet.hosts.free_ram_mb[row])

        return cloud.books.read(look)

    key, uuid = cell.instance(None)
    host = place(uuid)
    if tell == "update":
        cloud.books.update_instances(host, (Instance(uuid),))
    else:
        cloud.books.sync_instances(host, (uuid,))
    assert (on(cloud, host), free(host)) == ((uuid,), left - 64)
    assert place(cell.instance(None)[1]) != host
    # Nova's rows say both: it counts once.
    cell.change("instances", key, host=host)
    cell.change("compute_nodes", nodes[host], memory_mb_used=576, free_ram_mb=left - 64)
    cloud.feed(feed_interval=60.0)
    assert (on(cloud, host), free(host)) == ((uuid,), left - 64)


def test_aggregates_of_a_late_cast_are_put_right(
    cloud: Cloud, monkeypatch: Any
) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    number, uuid = cloud.api.aggregate("a", ["h1"])
    feed = cloud.feed()
    feed.note_update()
    cloud.books.set_host_aggregates((HostAggregate(uuid, "a", number),))
    until(lambda: cloud.books.list_host_aggregates()[0].hosts == {"h1"})


def test_a_mismatch_reads_the_host_again_with_facts(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    flavor = cloud.api.add(
        "flavors", name="m1", memory_mb=1, vcpus=1, flavorid="m1.tiny", swap=0
    )
    key, first = cell.instance("h1", instance_type_id=flavor)
    cell.add(
        "instance_system_metadata",
        instance_uuid=first,
        key="image_os_distro",
        value="debian",
        deleted=0,
    )
    facts = frozenset({"flavorid", "image_properties"})
    feed = cloud.feed(facts=facts, feed_interval=60.0)
    _, second = cell.instance("h1", instance_type_id=flavor)
    cell.soft_delete("instances", key)
    assert on(cloud, "h1") == (first,)
    feed.reread_instances("h1")
    assert on(cloud, "h1") == (second,)

    def known(state: Any) -> str:
        return str(state.fleet.instances.by_uuid[second].facts)

    assert cloud.books.read(known) == '{"flavorid":"m1.tiny"}'


def test_facts_are_those_of_the_flavor_and_the_image(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    _, uuid = cell.instance("h1")
    for key, value in (("image_os_distro", "debian"), ("instance_type_id", "7")):
        cell.add(
            "instance_system_metadata",
            instance_uuid=uuid,
            key=key,
            value=value,
            deleted=0,
        )
    cloud.feed(facts=frozenset({"image_properties"}))
    facts = cloud.books.read(lambda state: state.fleet.instances.by_uuid[uuid].facts)
    assert facts == '{"image_properties":{"os_distro":"debian"}}'


def test_the_image_of_an_instance_is_read_where_it_counts(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    image = "3c1d9f2e-8f0e-4c8e-9d3b-7a1f7a3f1a10"
    _, uuid = cell.instance("h1", image_ref=image)
    _, of_volume = cell.instance("h1", image_ref="")
    cloud.feed(facts=frozenset({"image_ref"}))

    def known(state: Any) -> tuple[str, str, dict[str, dict[str, int]]]:
        instances = state.fleet.instances
        facts = (instances.by_uuid[one].facts for one in (uuid, of_volume))
        return (*facts, instances.using)

    told = f'{{"image_ref":"{image}"}}', "{}", {image: {"h1": 1}}
    assert cloud.books.read(known) == told


def test_notes_are_kept_until_a_later_reading_has_stated_them() -> None:
    clock = iter(range(100))
    notes = Notes(lambda: next(clock))
    notes.note("a")  # 0
    notes.note("b")  # 1
    assert notes.since(1) == {"b"}
    notes.drop(frozenset({"a", "b"}), 1)
    assert notes.names() == {"b"}
    notes.note("b")  # 2
    notes.drop(frozenset({"b"}), 2)
    assert notes.names() == {"b"}
    notes.drop(frozenset({"b"}), 3)
    assert notes.names() == frozenset()


def test_notes_have_a_limit() -> None:
    notes = Notes(lambda: 0.0)
    for number in range(MOST + 3):
        notes.note(f"no host {number}")
    assert len(notes.names()) == MOST
    assert f"no host {MOST + 2}" in notes.names()


def test_two_feeds_do_no_harm(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    cell.host("h1")
    feeds: list[Feed] = [cloud.feed(), cloud.feed()]
    node = cell.host("h2")
    _, instance = cell.instance("h2")
    until(lambda: [one.host for one in cloud.books.list_hosts()] == ["h1", "h2"])
    until(lambda: on(cloud, "h2") == (instance,))
    cell.soft_delete("compute_nodes", node)
    until(lambda: [one.host for one in cloud.books.list_hosts()] == ["h1"])
    assert [feed.counts()["failures"] for feed in feeds] == [0, 0]
    assert cloud.books.verify().problems == ()
