"""Nova's databases are killed under the feed, as a machine without memory does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from uuid import uuid4

import pytest
import sqlalchemy as sa

import gantt
from gantt.conf.feed_settings import FeedOptions
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import Inventory
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.openstack.feed import Feed
from gantt.openstack.feed.nova_tables import API, CELL, NODES
from tests.databases import SERVERS, DatabaseServer
from tests.kinds import SERVER_KINDS
from tests.openstack.feed.conftest import OPTIONS
from tests.openstack.feed.nova_databases import ApiDatabase, CellDatabase
from tests.openstack.feed.test_beside_computes import FED
from tests.waiting import until

SPEC = RequestSpec(Flavor(vcpus=1, memory_mb=512, root_gb=1))

ROOM = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(9_000), "DISK_GB": Inventory(99)}


class Nova:
    """The databases of one server that a test may kill, and those of a cell on it."""

    def __init__(self, server: DatabaseServer, stack: ExitStack) -> None:
        self.server = server
        urls = [server.new(is_furnished=False) for _ in range(2)]
        self.api, self.cell = ApiDatabase(urls[0]), CellDatabase(urls[1])
        for one, tables in ((self.api, API), (self.cell, CELL)):
            stack.callback(one.close)
            one.make_tables(tables.tables)
        self.api.map_cell("one", urls[1])

    def revive(self) -> None:
        self.server.start()
        self.api.engine.dispose()
        self.cell.engine.dispose()


@pytest.fixture
def nova(request: pytest.FixtureRequest) -> Iterator[Nova]:
    with ExitStack() as stack:
        server = SERVERS[request.param]()
        stack.callback(server.close)
        yield Nova(server, stack)


def places(books: Gantt) -> dict[str, bool]:
    """The hosts that are known, and whether the cell of each can be read."""
    return {
        one.host: not one.service.get("cell_unreadable") for one in books.list_hosts()
    }


@pytest.mark.parametrize("nova", SERVER_KINDS, indirect=True)
def test_hosts_stand_while_their_database_is_dead(nova: Nova) -> None:
    cell = nova.cell
    uuids = {name: str(uuid4()) for name in ("h1", "h2")}
    for name in uuids:
        cell.service(name, version=66)  # newer ones mark their providers
    node, _ = [cell.node(name, uuid=uuid) for name, uuid in uuids.items()]
    given = OPTIONS | {"feed_timeout": 2.0}
    options = EngineOptions(scheduler=FED)
    with closing(gantt.connect("memory://", options=options)) as books:
        assert isinstance(books, Gantt)
        for name, uuid in uuids.items():
            books.create_provider(name, uuid=uuid)
            books.set_inventories(uuid, ROOM)
        feed = Feed(FeedOptions(api_url=nova.api.url, **given), books)
        try:
            feed.start()
            assert places(books) == {"h1": True, "h2": True}
            for _ in range(2):
                nova.server.kill()
                until(lambda: feed.counts()["cells_down"] == 1)
                until(lambda: places(books) == {"h1": False, "h2": False})
                assert feed.unready() == ""
                ((chosen, *_),) = books.schedule(ScheduleRequest(SPEC))
                assert chosen.service_host in {"h1", "h2"}
                nova.revive()
                cell.change("compute_nodes", node, vcpus=seen(books) + 1)
                until(lambda: seen(books) == written(cell, node))
                until(lambda: places(books) == {"h1": True, "h2": True})
                until(lambda: feed.counts()["cells_down"] == 0)
        finally:
            feed.stop()


def seen(books: Gantt) -> int:
    """The CPUs of the host that changes."""
    found: int = books.list_hosts(host="h1")[0].stats["vcpus"]
    return found


def written(cell: CellDatabase, node: int) -> int:
    """The same, as the row has them."""
    with cell.engine.connect() as connection:
        statement = sa.select(NODES.c.vcpus).where(NODES.c.id == node)
        found: int = connection.execute(statement).scalar_one()
    return found
