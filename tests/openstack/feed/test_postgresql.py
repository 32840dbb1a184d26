"""Nova's databases on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
import sqlalchemy as sa

import gantt
from gantt.conf.feed_settings import FLAVOR, IMAGE, FeedOptions
from gantt.engine.gantt import Gantt
from gantt.openstack.feed import Feed
from gantt.openstack.feed.nova_tables import API, CELL
from tests.databases import Databases
from tests.openstack.feed.conftest import OPTIONS
from tests.openstack.feed.nova_databases import ApiDatabase, CellDatabase
from tests.openstack.feed.test_open_migrations import migration, told
from tests.waiting import until

pytestmark = pytest.mark.server("postgresql")


@pytest.fixture
def nova(databases: Databases) -> Iterator[tuple[ApiDatabase, CellDatabase]]:
    with ExitStack() as stack:
        urls = [
            stack.enter_context(databases.database("postgresql", is_furnished=False))
            for _ in range(2)
        ]
        api, cell = ApiDatabase(urls[0]), CellDatabase(urls[1])
        for one, tables in ((api, API), (cell, CELL)):
            stack.callback(one.close)
            one.make_tables(tables.tables)
        yield api, cell


def test_the_feed_follows_what_changes(
    nova: tuple[ApiDatabase, CellDatabase],
) -> None:
    api, cell = nova
    api.map_cell("one", cell.url)
    node = cell.host("h1")
    key, instance = cell.instance("h1")
    _, aggregate = api.aggregate("a", ["h1"], ssd="true")
    api.group("affinity", [instance], '{"max_server_per_host": 3}')
    move, moving = migration(cell, instance)
    facts = frozenset({FLAVOR, IMAGE})
    options = FeedOptions(
        api_url=api.url, facts=facts, **OPTIONS | {"feed_full_interval": 1.0}
    )
    with closing(gantt.connect("memory://")) as books:
        assert isinstance(books, Gantt)
        feed = Feed(options, books)
        try:
            feed.start()
            (host,) = books.list_hosts()
            assert (host.instances, host.aggregates) == ((instance,), (aggregate,))
            cell.change("compute_nodes", node, vcpus=65)
            until(lambda: books.list_hosts()[0].stats["vcpus"] == 65)
            assert told(books) == {instance, moving}
            cell.host("h2")
            cell.change("instances", key, host="h2")
            cell.change("migrations", move, status="completed")
            until(lambda: told(books) == set())
            until(
                lambda: (
                    [one.instances for one in books.list_hosts()] == [(), (instance,)]
                )
            )
            cell.soft_delete("compute_nodes", node)
            until(lambda: [one.host for one in books.list_hosts()] == ["h2"])
            assert feed.counts()["cell_failures"] == feed.counts()["failures"] == 0
            assert feed.notice() == ""
        finally:
            feed.stop()
        assert books.verify().problems == ()


@pytest.mark.parametrize("value", ["infinity", "-infinity", "0044-03-15 BC"])
def test_a_time_that_is_none_costs_its_row_alone(
    nova: tuple[ApiDatabase, CellDatabase], value: str
) -> None:
    api, cell = nova
    api.map_cell("one", cell.url)
    cell.host("h1")
    cell.host("h2")
    with cell.engine.connect() as connection:
        for table, column in (
            ("services", "last_seen_up"),
            ("compute_nodes", "updated_at"),
        ):
            change = f"UPDATE {table} SET {column} = '{value}' WHERE host = 'h1'"
            connection.execute(sa.text(change))
    with closing(gantt.connect("memory://")) as books:
        feed = Feed(FeedOptions(api_url=api.url, **OPTIONS), books)
        try:
            feed.start()
            seen = {one.host: one.service["last_seen_up"] for one in books.list_hosts()}
            assert seen == {"h1": 0, "h2": None}
            assert "service of host h1" in feed.notice()
            assert feed.counts()["cell_failures"] == 0
        finally:
            feed.stop()


@pytest.mark.parametrize("style", ["German", "SQL, DMY"])
def test_times_are_read_in_whatever_style_the_database_has(
    nova: tuple[ApiDatabase, CellDatabase], style: str
) -> None:
    api, cell = nova
    for one in nova:
        name = sa.make_url(one.url).database
        change = sa.text(f"ALTER DATABASE {name} SET datestyle = '{style}'")
        with one.engine.connect() as connection:
            connection.execute(change)
    api.map_cell("one", cell.url)
    cell.host("h1", host_ip="2001:db8::1")
    cell.service("h1-gone", disabled=True)
    with closing(gantt.connect("memory://")) as books:
        feed = Feed(FeedOptions(api_url=api.url, **OPTIONS), books)
        try:
            feed.start()
            assert feed.notice() == ""
            assert books.list_hosts()[0].stats["host_ip"] == "2001:db8::1"
        finally:
            feed.stop()
