"""Two ``gantt scheduler`` with feeds on one set of books; one of them is killed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from gantt.connection import connect
from gantt.engine.gantt import Gantt
from gantt.model.commands import Inventory
from gantt.openstack.feed.nova_tables import API, CELL
from tests.brokers import Rabbitmq
from tests.databases import Databases
from tests.live import free_port
from tests.openstack.conductor import conductor, context, instances, spec
from tests.openstack.feed.nova_databases import ApiDatabase, CellDatabase, now
from tests.openstack.marks import WARNED_BY_NOVA
from tests.openstack.processes import scheduler
from tests.openstack.test_presence import Nova, rows
from tests.openstack.test_processes import Load, asked
from tests.waiting import until

pytestmark = [
    pytest.mark.server("rabbitmq"),
    pytest.mark.server("mariadb"),
    WARNED_BY_NOVA,
]
HOSTS, ROOM, THREADS = 4, 500, 4
DOWN_S = 6
MAPPED = "SELECT host, cell_id FROM host_mappings ORDER BY host"


class Computes(threading.Thread):
    """Nodes of a cell, whose services heartbeat until ``stop``."""

    def __init__(self, nova: Nova, books: Gantt) -> None:
        super().__init__()
        self._nova, self._books = nova, books
        self._services: list[int] = []
        self._is_over = threading.Event()

    def add(self, name: str) -> None:
        """A host that is in no cell yet, with its provider."""
        uuid, cell = str(uuid4()), self._nova.cell
        self._books.create_provider(name, uuid=uuid)
        amounts = {"VCPU": ROOM, "MEMORY_MB": 512 * ROOM, "DISK_GB": ROOM}
        self._books.set_inventories(
            uuid, {kind: Inventory(amount) for kind, amount in amounts.items()}
        )
        # Newer ones mark their providers.
        self._services.append(cell.service(name, version=66))
        cell.node(name, uuid=uuid, mapped=0)

    def run(self) -> None:
        while not self._is_over.wait(0.5):
            for key in tuple(self._services):
                self._nova.cell.change("services", key, last_seen_up=now())

    def stop(self) -> None:
        self._is_over.set()
        self.join()


@pytest.fixture
def books(databases: Databases) -> Iterator[str]:
    with databases.database("mariadb") as url:
        yield url


@pytest.fixture
def nova(databases: Databases) -> Iterator[Nova]:
    with ExitStack() as stack:
        urls = [
            stack.enter_context(databases.database("mariadb", is_furnished=False))
            for _ in range(2)
        ]
        for kind, tables, url in zip(
            (ApiDatabase, CellDatabase), (API, CELL), urls, strict=True
        ):
            with closing(kind(url)) as database:
                database.make_tables(tables.tables)
        found = Nova(*urls)
        stack.callback(found.close)
        yield found


def test_one_goes_on_when_the_other_is_killed(
    tmp_path: Path, rabbitmq: Rabbitmq, nova: Nova, books: str
) -> None:
    ports = {"one": free_port(), "two": free_port()}
    user = sa.make_url(nova.cell.url).username
    more = (
        f"report_interval = 1\nservice_down_time = {DOWN_S}\n"
        f"[api_database]\nconnection = {nova.api.url}\n"
        f"[database]\nconnection = {nova.cell.url}\n"
        f"[nova]\nfeed_interval = 0.3\nwrite_user = {user}\n"
        "[scheduler]\ndiscover_hosts_in_cells_interval = 1\n"
    )
    with ExitStack() as stack:
        gantt = stack.enter_context(closing(connect(books)))
        assert isinstance(gantt, Gantt)
        computes = Computes(nova, gantt)
        for number in range(HOSTS):
            computes.add(f"h{number}")
        computes.start()
        stack.callback(computes.stop)
        api = stack.enter_context(conductor(rabbitmq.url, timeout_s=5))
        one, two = [
            stack.enter_context(
                scheduler(
                    tmp_path,
                    rabbitmq.url,
                    books,
                    "--metrics-listen",
                    f"127.0.0.1:{port}",
                    host=host,
                    more=more,
                )
            )
            for host, port in ports.items()
        ]

        def seen(port: int, hosts: int) -> bool:
            return f"\ngantt_feed_hosts {hosts}.0\n" in asked(port, "/metrics")[1]

        def known(hosts: int) -> bool:
            return len(gantt.list_hosts()) == hosts

        def mapped(hosts: int) -> bool:
            return len(rows(nova.api, MAPPED)) == hosts

        until(lambda: all(seen(port, HOSTS) for port in ports.values()), 30)
        until(lambda: known(HOSTS) and mapped(HOSTS), 30)
        assert "Mapped host" in one.text and "Mapped host" not in two.text

        load = Load(api, THREADS)
        stack.callback(load.end)
        load.reach(40)
        one.kill()
        load.reach(40)
        computes.add("late")
        until(lambda: known(HOSTS + 1) and seen(ports["two"], HOSTS + 1), 30)
        until(lambda: mapped(HOSTS + 1), 30)
        two.wait_for("Mapped host late")
        load.reach(40)
        load.end()
        assert asked(ports["two"], "/readyz") == (200, "OK")
        # What the killed one had taken went to the other.
        assert set(load.outcomes) == {"placed"}
        for _ in range(5):
            api.select_destinations(context(), spec(), instances(), True, True)
        assert two.stop() == 0
        assert len(load.placed) == len(set(load.placed))
        for uuid in load.placed:
            view = gantt.get_allocations(uuid)
            assert view is not None and len(view.allocations) == 1
        used = sum(
            gantt.get_usages(one.uuid).usages["VCPU"] for one in gantt.list_providers()
        )
        # None was claimed twice, and none unheard.
        assert used == len(load.placed) + 5
        assert gantt.verify().problems == ()
        assert {cell for _, cell in rows(nova.api, MAPPED)} == {nova.number}
