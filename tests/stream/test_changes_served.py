"""Two services on one database: while they write and are killed, the topic gets each
revision once, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gantt.connection import open_gantt
from gantt.model.commands import Inventory
from gantt.store import StoreOptions, open_store, schema
from tests.crash.load import Client
from tests.databases import Databases
from tests.kafka_broker import Kafka
from tests.kinds import SERVER_KINDS
from tests.live import Live, spawn, wait_until_up
from tests.stream.change_readers import (
    Reader,
    change_options,
    copy_of,
    kept,
    revisions,
    tables,
)

pytestmark = [pytest.mark.server("kafka"), pytest.mark.slow]
KILLS = 2  # one of which is the leader
KINDS = ["sqlite", *(one for one in SERVER_KINDS if "postgresql" in one.values)]
PROVIDERS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(6)]


@pytest.fixture(params=KINDS)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, databases: Databases
) -> Iterator[str]:
    """Where the books are."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/books.db"
    else:
        with databases.database(str(request.param)) as url:
            yield url


def prepare(database: str) -> None:
    schema.sync(database)
    with open_gantt(database) as books:
        for number, uuid in enumerate(PROVIDERS):
            books.create_provider(f"host-{number}", uuid=uuid)
            stock = {"VCPU": Inventory(1_000_000), "MEMORY_MB": Inventory(9_000_000)}
            books.set_inventories(uuid, stock)


def kill(running: list[tuple[Live, list[Client]]]) -> None:
    for live, _ in running:
        live.kill()


def last(database: str) -> int:
    """The last revision. No engine is opened: it might lead, and publishes nothing."""
    store = open_store(database, StoreOptions())
    try:
        return store.cursor().revision
    finally:
        store.close()


def test_services_that_are_killed_publish_each_revision_once(
    kafka: Kafka, database: str, tmp_path: Path
) -> None:
    prepare(database)
    options = change_options(kafka)
    file = tmp_path / "gantt.conf"
    file.write_text(
        f"[api]\nauth_strategy = noauth2\n[stream]\nbootstrap_servers = {kafka.servers}"
        f"\nchanges_topic = {options.changes_topic}\nchanges_batch = 20\n"
        "reports_topic = reports-of-no-other-test\n"
    )
    seeds = itertools.count(1)

    def started() -> tuple[Live, list[Client]]:
        live = spawn(database, tmp_path / "log", options=("--config-file", str(file)))
        wait_until_up(live)
        address = live.url.removeprefix("http://")
        clients = [Client(address, PROVIDERS, seed=next(seeds)) for _ in range(2)]
        for client in clients:
            client.start()
        return live, clients

    with ExitStack() as stack:
        reader = Reader(options)
        stack.callback(reader.close)
        running = [started(), started()]
        stack.callback(lambda: kill(running))
        reader.read_until(30)
        for number in range(KILLS):
            live, clients = running[number % 2]
            live.kill()
            for client in clients:
                client.join()
            # The other one, which may have to take over, goes on.
            reader.read_until(last(database) + 20)
            running[number % 2] = started()
        for client in (one for _, clients in running for one in clients):
            client.stop.set()
            client.join()
        end = last(database)
        reader.read_until(end)
        assert revisions(reader.values) == list(range(1, end + 1))
        with open_gantt(database) as books:
            assert tables(copy_of(reader.values).tables) == kept(books)
