"""Cells that fail, are slow, disabled, or named by a template."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gantt.conf.feed_settings import FeedOptions
from gantt.errors import NotFound, Refused, StoreFailed
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed, cell_feed
from gantt.openstack.feed.cell_feed import CellFeed
from gantt.openstack.feed.cell_mappings import (
    CellMapping,
    filled,
    open_cell,
    with_user,
)
from gantt.openstack.feed.nova_connection import NovaDatabase, Row, Select
from gantt.openstack.rpc.message_bus import open_transport
from tests.openstack.conductor import options
from tests.openstack.feed.conftest import Cloud
from tests.waiting import until


def hosts(cloud: Cloud) -> list[str]:
    return [one.host for one in cloud.books.list_hosts()]


def database_of(feed: Feed, name: str) -> NovaDatabase:
    (found,) = [one for one in feed._cells.values() if one.cell.name == name]
    return found.database


def fail_while(database: NovaDatabase, down: threading.Event) -> None:
    """As a server that went away."""
    read = database.rows

    def rows(statement: Select) -> Sequence[Row]:
        if down.is_set():
            raise StoreFailed("it is down")
        return read(statement)

    database.rows = rows  # type: ignore[method-assign]


def marked(cloud: Cloud) -> list[str]:
    """Hosts that are said to be as they were last known."""
    known = cloud.books.list_hosts()
    return [one.host for one in known if "cell_unreadable" in one.service]


def failed(feed: Feed) -> set[str]:
    return {one.name for one in feed.cells() if one.failure}


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def test_a_cell_that_fails_keeps_its_hosts(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h1")
    two.host("h2")
    feed = cloud.feed()
    assert hosts(cloud) == ["h1", "h2"]
    with caplog.at_level(logging.WARNING):
        down = threading.Event()
        fail_while(database_of(feed, "one"), down)
        down.set()
        until(lambda: failed(feed) == {"one"})
        two.host("h3")
        until(lambda: hosts(cloud) == ["h1", "h2", "h3"])
        assert feed.counts()["cells_down"] == 1
        until(lambda: marked(cloud) == ["h1"])
        down.clear()
        until(lambda: not failed(feed))
        until(lambda: marked(cloud) == [])
    told = [line for line in caplog.messages if "cell one" in line]
    assert len(told) == 2, "once when it fails, once when it can be read again"
    assert hosts(cloud) == ["h1", "h2", "h3"]


def test_a_cell_that_fails_at_the_start_keeps_what_was_known(cloud: Cloud) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h1")
    two.host("h2")
    first = cloud.feed()
    first.stop()
    path = path_of(one.url)
    path.rename(path.with_suffix(".gone"))
    path.mkdir()
    two.host("h3")
    again = cloud.feed()
    assert hosts(cloud) == ["h1", "h2", "h3"]
    (failed,) = [one for one in again.cells() if one.failure]
    assert (failed.name, failed.read_at) == ("one", None)
    # Once it can be read, what is gone is gone.
    path.rmdir()
    path.with_suffix(".gone").rename(path)
    one.soft_delete("compute_nodes", 1)
    until(lambda: hosts(cloud) == ["h2", "h3"])


UNUSABLE = [
    "",
    "no url",
    "{colour}://h/nova",
    "oracle://h/nova",
    "mysql+nosuch://h/nova",
    "mysql://h:port/nova",
    "mysql+pymysql://127.0.0.1:1/nova?colour=red",
]


@pytest.mark.parametrize("url", UNUSABLE)
def test_a_url_that_cannot_be_used_concerns_its_cell_alone(
    cloud: Cloud, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h1")
    two.host("h2")
    feed = cloud.feed()
    cloud.api.change("cell_mappings", cloud.numbers["one"], database_connection=url)
    until(lambda: marked(cloud) == ["h1"])
    assert failed(feed) == {"one"}
    assert feed.counts()["cells_down"] == 1
    two.host("h3")
    _, aggregate = cloud.api.aggregate("a", ["h3"])
    until(lambda: hosts(cloud) == ["h1", "h2", "h3"])
    until(lambda: cloud.books.list_hosts()[2].aggregates == (aggregate,))
    assert feed.counts()["failures"] == 0
    assert feed.unready() == ""
    assert "cell one is not read" in caplog.text
    assert "mistake" not in caplog.text
    # As well at the start.
    feed.stop()
    again = cloud.feed()
    assert failed(again) == {"one"}
    assert hosts(cloud) == ["h1", "h2", "h3"]
    cloud.api.change("cell_mappings", cloud.numbers["one"], database_connection=one.url)
    until(lambda: not failed(again) and marked(cloud) == [])


def test_a_slow_cell_does_not_delay_others(cloud: Cloud) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h1")
    two.host("h2")
    feed = cloud.feed()
    stall = threading.Event()
    slow = database_of(feed, "one")
    read = slow.rows

    def wait_and_read(statement: Select) -> Sequence[Row]:
        stall.wait(20)
        return read(statement)

    slow.rows = wait_and_read  # type: ignore[method-assign]
    two.host("h3")
    until(lambda: hosts(cloud) == ["h1", "h2", "h3"])
    stall.set()


def test_casts_do_not_wait_for_a_slow_cell(cloud: Cloud) -> None:
    """All calls of a scheduler share its threads."""
    cell = cloud.cell("one")
    cell.host("h1")
    feed = cloud.feed()
    stall, is_reading = threading.Event(), threading.Event()
    slow = database_of(feed, "one")
    read = slow.rows

    def wait_and_read(statement: Select) -> Sequence[Row]:
        is_reading.set()
        stall.wait(20)
        return read(statement)

    slow.rows = wait_and_read  # type: ignore[method-assign]
    assert is_reading.wait(20)
    _, uuid = cell.instance("h1")
    caller = threading.Thread(target=feed.reread_instances, args=("h1",))
    caller.start()
    caller.join(5)
    has_waited = caller.is_alive()
    stall.set()
    assert not has_waited
    until(lambda: [one.instances for one in cloud.books.list_hosts()] == [(uuid,)])


def test_a_cast_at_the_end_of_a_round_does_not_wait_for_the_next(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the thread that has the turn looked for the last time."""
    cell = cloud.cell("one")
    cell.host("h1")
    feed = cloud.idle_feed(feed_interval=60.0)
    looked = CellFeed._read_asked
    placed: list[str] = []

    def looked_and_told(reading: CellFeed) -> None:
        looked(reading)
        if not placed:
            placed.append(cell.instance("h1")[1])
            feed.reread_instances("h1")
            assert hosts(cloud) == ["h1"]
            assert cloud.books.list_hosts()[0].instances == ()

    monkeypatch.setattr(CellFeed, "_read_asked", looked_and_told)
    feed.start()
    until(lambda: cloud.books.list_hosts()[0].instances == tuple(placed))


def test_the_api_database_must_answer_at_the_start(
    cloud: Cloud, tmp_path: Path
) -> None:
    feed = cloud.idle_feed(api_url=f"sqlite:///{tmp_path}/none/none.db")
    with pytest.raises(Exception, match="API database"):
        feed.start()


def test_another_database_is_refused_by_name(cloud: Cloud) -> None:
    cell = cloud.cell("one")
    with pytest.raises(Refused, match="is not a database of Nova"):
        cloud.idle_feed(api_url=cell.url).start()


def test_cells_come_and_go(cloud: Cloud) -> None:
    cloud.cell("one").host("h1")
    cloud.feed()
    cloud.cell("two").host("h2")
    until(lambda: hosts(cloud) == ["h1", "h2"])
    cloud.api.remove("cell_mappings", cloud.numbers["one"])
    until(lambda: hosts(cloud) == ["h2"])
    assert cloud.books.verify().problems == ()


def test_a_disabled_cell_gets_no_new_instances(cloud: Cloud) -> None:
    for name, host in (("one", "h1"), ("two", "h2")):
        cell = cloud.cell(name, disabled=name == "two")
        cell.node(host)
        # Later ones require a trait of their computes' providers.
        cell.service(host, version=72)
    cloud.feed()
    spec = RequestSpec(flavor=Flavor(vcpus=1), project_id="p", user_id="u")

    def chosen() -> set[str]:
        return {one.host for one in cloud.books.decide(ScheduleRequest(spec)).scores}

    assert hosts(cloud) == ["h1", "h2"]
    assert chosen() == {"h1"}
    cloud.api.change("cell_mappings", cloud.numbers["two"], disabled=False)
    until(lambda: chosen() == {"h1", "h2"})


def test_a_host_that_two_cells_name_is_of_the_one_it_is_mapped_to(cloud: Cloud) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h", vcpus=1)
    two.host("h", vcpus=2)
    mapping = cloud.api.add("host_mappings", host="h", cell_id=cloud.numbers["two"])
    feed = cloud.feed()

    def known() -> tuple[object, object]:
        (host,) = cloud.books.list_hosts()
        return host.stats["vcpus"], host.service["cell_uuid"]

    assert known() == (2, cloud.uuids["two"])
    cloud.api.change("host_mappings", mapping, cell_id=cloud.numbers["one"])
    until(lambda: known() == (1, cloud.uuids["one"]))
    with pytest.raises(NotFound):
        feed.reread_instances("elsewhere")


# -- where cells are ----------------------------------------------------------------

URL = "mysql+pymysql://nova:secret@db1:3306/nova?charset=utf8"


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (URL, URL),
        (
            "{scheme}://{username}:{password}@db2/nova_cell1?{query}",
            URL.replace("db1:3306/nova", "db2/nova_cell1"),
        ),
        (
            "{scheme}://u:p@{hostname}:{port}/{path}",
            "mysql+pymysql://u:p@db1:3306/nova",
        ),
    ],
)
def test_templates_are_filled_from_the_connection(template: str, found: str) -> None:
    assert filled(template, URL) == found


def test_templates_are_filled_as_nova_does() -> None:
    from nova.objects.cell_mapping import CellMapping

    rabbit = "rabbit://a:b@h1:1,c:d@h2:2/v"
    for template in (
        "{scheme}://{username}:{password}@{hostname}:{port}/{path}_1?{query}#{fragment}",
        "x://{hostname}",
    ):
        assert filled(template, URL) == CellMapping._format_url(template, URL)
    numbered = "rabbit://{username1}:{password2}@{hostname2}:{port1}/{path}"
    assert filled(numbered, rabbit) == CellMapping._format_url(numbered, rabbit)


def test_a_template_that_cannot_be_filled_is_refused() -> None:
    with pytest.raises(Refused, match=r"\[database\]"):
        filled("{scheme}://x", "")
    with pytest.raises(Refused, match="colour"):
        filled("{colour}://x", URL)


def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    """A slash in a password ends the host's part of a URL."""
    with pytest.raises(Refused) as caught:
        filled("{scheme}://{port}", "mysql+pymysql://nova:S3c/ret@h/nova")
    assert "S3c" not in caught.value.message
    with pytest.raises(Refused) as caught:
        with_user("mysql://nova:S3cret@h:port/nova", FeedOptions(feed_user="gantt"))
    assert "S3c" not in caught.value.message
    with pytest.raises(Refused) as caught:
        open_transport(options("rabbit://nova:S3c/ret@h:5672/"))
    assert "S3c" not in caught.value.message


def test_a_driver_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="driver"):
        NovaDatabase("cell one", "mysql+nosuch://nova@h/nova", 1.0)


def test_the_feeds_user_takes_the_place_of_novas() -> None:
    options = FeedOptions(feed_user="gantt", feed_password="p@ss")
    found = with_user(URL, options)
    assert found == "mysql+pymysql://gantt:p%40ss@db1:3306/nova?charset=utf8"
    assert with_user("sqlite:////x.db", options) == "sqlite:////x.db"


class Slow:
    """Databases of cells by name that answer late: each answer waits for a turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self._names = names
        self.go_on = threading.Event()
        monkeypatch.setattr(cell_feed, "open_cell", self._open)

    def _open(self, cell: CellMapping, options: FeedOptions) -> NovaDatabase:
        database = open_cell(cell, options)
        if cell.name in self._names:
            read = database.rows

            def rows(statement: Select) -> Sequence[Row]:
                assert self.go_on.wait(60)
                return read(statement)

            database.rows = rows  # type: ignore[method-assign]
        return database


def test_a_slow_cell_keeps_no_scheduler_from_serving(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = cloud.cell("one"), cloud.cell("two")
    one.host("h1")
    two.host("h2")
    cloud.feed().stop()  # both are known of before
    slow = Slow(monkeypatch, "one")
    two.host("h3")
    feed = cloud.feed(feed_timeout=0.5)  # returns
    try:
        assert feed.unready() == ""
        assert hosts(cloud) == ["h1", "h2", "h3"]
        assert marked(cloud) == ["h1"]
        (late,) = [each for each in feed.cells() if each.failure]
        assert (late.name, late.failure, late.read_at) == ("one", "not read yet", None)
        assert feed.notice() == "cell one is not read yet"
        assert feed.counts()["cells_down"] == 1
    finally:
        slow.go_on.set()
    until(lambda: marked(cloud) == [])
    assert (feed.notice(), failed(feed)) == ("", set())
    told = [line for line in caplog.messages if "cell one" in line]
    assert [line.split(":")[0] for line in told] == [
        "cell one is not read yet",
        "cell one is read",
    ]


def test_each_cell_has_its_turn_before_the_start_goes_on(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells beyond ``feed_cells`` wait for others, so that the start waits as well."""
    waited: list[float] = []

    def wait(cell: CellFeed, until: float) -> None:
        waited.append(until - time.monotonic())

    for name in ("one", "two", "three"):
        cloud.cell(name).host(f"h-{name}")
    monkeypatch.setattr(CellFeed, "wait", wait)
    cloud.feed(feed_cells=2, feed_timeout=50.0)
    assert 50.0 < min(waited) <= max(waited) <= 100.0
