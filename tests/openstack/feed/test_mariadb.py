"""On MariaDB, with Nova's migrations, and a user with the documented rights alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

import gantt
from gantt.conf.feed_settings import FeedOptions
from gantt.engine.gantt import Gantt
from gantt.errors import Refused, StoreFailed
from gantt.openstack.feed import Feed
from gantt.openstack.feed.nova_connection import NovaDatabase
from gantt.openstack.feed.nova_tables import API, CELL, NODES
from tests.databases import Databases, DatabaseServer
from tests.openstack.feed import make_schema
from tests.openstack.feed.conftest import OPTIONS
from tests.openstack.feed.nova_databases import (
    CELL0,
    ApiDatabase,
    CellDatabase,
    new_mariadb,
)
from tests.openstack.feed.test_open_migrations import migration, told
from tests.programs import printed
from tests.waiting import until

pytestmark = pytest.mark.server("mariadb")

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "feed.md"
STATEMENT = re.compile(r"^(?:CREATE USER|GRANT) .*;$", re.MULTILINE)


class Cloud:
    """Databases under the names of this server; ``statements``: those of the document,
    with these names in place of the usual ones."""

    def __init__(self, server: DatabaseServer) -> None:
        self.server = server
        api_url, cell_url = new_mariadb(server), new_mariadb(server)
        printed([sys.executable, make_schema.__file__, api_url, cell_url])
        self.api, self.cell = ApiDatabase(api_url), CellDatabase(cell_url)
        self.api.map_cell("cell0", "none:///", uuid=CELL0)
        self.api.map_cell(
            "one",
            "{scheme}://{username}@{hostname}:{port}/CELL".replace(
                "CELL", str(sa.make_url(cell_url).database)
            ),
        )
        text = "\n".join(STATEMENT.findall(DOCUMENT.read_text()))
        text = text.replace("`nova_api`", f"`{sa.make_url(api_url).database}`")
        text = text.replace("`nova_cell1`", f"`{sa.make_url(cell_url).database}`")
        self.statements = text.split("\n")

    def execute(self, *statements: str) -> None:
        # The driver fills in values: a percent sign is doubled.
        self.server.execute(*(one.replace("%", "%%") for one in statements))

    def options(self, **more: Any) -> FeedOptions:
        given = {
            "api_url": self.api.url,
            "database_url": self.cell.url,
            "feed_user": "gantt",
            "feed_password": "secret",
        }
        return FeedOptions(**given | OPTIONS | more)


@pytest.fixture(scope="module")
def cloud(databases: Databases) -> Iterator[Cloud]:
    found = Cloud(databases.server("mariadb"))
    yield found
    found.api.close()
    found.cell.close()


@pytest.fixture
def user(cloud: Cloud) -> Iterator[None]:
    """The user of the document."""
    cloud.execute(*cloud.statements)
    yield
    cloud.execute("DROP USER 'gantt'@'%'")


def test_the_document_grants_each_table_that_is_read(cloud: Cloud) -> None:
    granted = re.findall(r"\.`(\w+)` TO", "\n".join(cloud.statements))
    assert sorted(granted) == sorted([*API.tables, *CELL.tables])


@pytest.mark.usefixtures("user")
def test_the_documented_rights_are_enough(cloud: Cloud) -> None:
    cloud.cell.host("h1")
    _, instance = cloud.cell.instance("h1")
    _, moving = migration(cloud.cell, instance)
    cloud.api.aggregate("a", ["h1"])
    cloud.api.group("affinity", [instance])
    books = gantt.connect("memory://")
    facts = frozenset({"flavorid", "image_properties"})
    feed = Feed(cloud.options(facts=facts), books)
    try:
        feed.start()
        (host,) = books.list_hosts()
        assert host.instances == (instance,)
        assert isinstance(books, Gantt) and told(books) == {instance, moving}
        cloud.cell.change("compute_nodes", 1, vcpus=65)
        until(lambda: books.list_hosts()[0].stats["vcpus"] == 65)
        assert feed.counts()["cell_failures"] == 0
    finally:
        feed.stop()
        books.close()


@pytest.mark.usefixtures("user")
def test_a_zero_date_costs_its_row_alone(cloud: Cloud) -> None:
    """MariaDB keeps them by default, and its driver hands them over as text."""
    for host in ("zero1", "zero2"):
        cloud.cell.host(host)
        _, uuid = cloud.cell.instance(host)
    cloud.api.aggregate("zero", ["zero2"])
    zero = "0000-00-00 00:00:00"
    with cloud.cell.engine.connect() as connection:
        connection.execute(sa.text("SET SESSION sql_mode = ''"))
        for table, column, where in (
            ("services", "last_seen_up", "host = 'zero1'"),
            ("compute_nodes", "updated_at", "host = 'zero1'"),
            ("instances", "updated_at", f"uuid = '{uuid}'"),
        ):
            change = f"UPDATE {table} SET {column} = '{zero}' WHERE {where}"
            assert connection.execute(sa.text(change)).rowcount == 1
    with cloud.api.engine.connect() as connection:
        connection.execute(sa.text("SET SESSION sql_mode = ''"))
        connection.execute(sa.text(f"UPDATE aggregates SET created_at = '{zero}'"))
    books = gantt.connect("memory://")
    feed = Feed(cloud.options(), books)
    try:
        feed.start()
        known = {one.host: one for one in books.list_hosts()}
        assert known["zero2"].instances == (uuid,)
        assert known["zero1"].service["last_seen_up"] == 0
        assert known["zero2"].service["last_seen_up"] is None
        assert "service of host zero1" in feed.notice()
        counts = feed.counts()
        assert (counts["cell_failures"], counts["failures"]) == (0, 0)
        assert counts["unreadable"] == 3
    finally:
        feed.stop()
        books.close()


@pytest.mark.usefixtures("user")
def test_a_missing_right_is_named_by_its_grant(cloud: Cloud) -> None:
    books = gantt.connect("memory://")
    for grant in cloud.statements[1:]:
        revoke = grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM ")
        cloud.execute(revoke)
        facts = frozenset({"flavorid", "image_properties"})
        feed = Feed(cloud.options(facts=facts), books)
        try:
            feed.start()
            (cell,) = feed.cells()
            why = cell.failure
        except Refused as refused:
            why = refused.message
        finally:
            feed.stop()
        assert grant in why
        cloud.execute(grant)
    books.close()


@pytest.mark.usefixtures("user")
def test_nothing_can_be_written(cloud: Cloud) -> None:
    """Not even by a user who may."""
    database = NovaDatabase("the cell", cloud.cell.url, 5.0)
    write = sa.update(NODES).values(vcpus=1)
    with (
        database._engine.connect() as connection,
        pytest.raises(exc.DBAPIError, match="READ ONLY"),
    ):
        connection.execute(write)
    database.close()


def test_a_server_that_stands_still_is_given_up(cloud: Cloud) -> None:
    database = NovaDatabase("the cell", cloud.cell.url, 1.0)
    assert database.rows(sa.select(sa.func.count(NODES.c.id)))
    cloud.server.stand_still()
    try:
        with pytest.raises(StoreFailed, match="does not answer"):
            database.rows(sa.select(NODES.c.id))
    finally:
        cloud.server.go_on()
        database.close()


def test_a_wrong_password_is_named(cloud: Cloud) -> None:
    feed = Feed(cloud.options(), gantt.connect("memory://"))
    with pytest.raises(Refused, match="does not let in the user gantt"):
        feed.start()
    feed.stop()
