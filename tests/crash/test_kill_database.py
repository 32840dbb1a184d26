"""kill -9 of the database server under load: what was acknowledged is there after.

Two engines claim from threads of this process. While the server is gone callers hear
that it is, or that the outcome is unknown; once it is back both engines go on by
themselves. GANTT_CRASH_ROUNDS (default 3) and GANTT_CRASH_SEED as in test_kill; a sixth
of them.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError
from gantt.model.commands import ConsumerAllocations, CreateResourceClass, Inventory
from gantt.store import StoreOptions, open_store
from tests.crash.test_kill import ROUNDS, SEED
from tests.databases import Databases, DatabaseServer
from tests.kinds import SERVER_KINDS
from tests.waiting import until

CLIENTS = 6
HOSTS = 3


class Client(threading.Thread):
    """Claims until told to stop; remembers what it heard of each consumer."""

    def __init__(self, books: Gantt, hosts: list[str], seed: int) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.granted: set[str] = set()
        self.unknown: set[str] = set()
        self._books = books
        self._hosts = hosts
        self._rng = random.Random(seed)

    def run(self) -> None:
        while not self.stop.is_set():
            consumer = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
            two = self._rng.sample(self._hosts, 2)
            shares = {host: {"CUSTOM_SLOT": 1} for host in two}
            try:
                self._books.set_allocations(
                    [ConsumerAllocations(consumer, shares, "p", "u", None)]
                )
                self.granted.add(consumer)
            except GanttError:
                self.unknown.add(consumer)
                time.sleep(0.01)


@pytest.fixture(params=SERVER_KINDS)
def server(
    request: pytest.FixtureRequest, databases: Databases
) -> Iterator[DatabaseServer]:
    server = databases.server(str(request.param))
    yield server
    if not server.is_running:
        server.start()


def opened(url: str) -> Gantt:
    store = open_store(url, StoreOptions(lock_timeout_s=20))
    return Gantt(store, EngineOptions(wait_s=0.5, patient=1))


def test_killed_server_loses_no_acknowledged_write(
    server: DatabaseServer, record_property: Any
) -> None:
    rng = random.Random(SEED)
    url = server.new()
    engines = [opened(url) for _ in range(2)]
    engines[0].submit(CreateResourceClass("CUSTOM_SLOT"))
    hosts = [engines[0].create_provider(f"host-{n}").uuid for n in range(HOSTS)]
    for host in hosts:
        engines[0].set_inventories(host, {"CUSTOM_SLOT": Inventory(1_000_000)})
    granted: set[str] = set()
    unknown: set[str] = set()
    kills = max(1, ROUNDS // 6)
    for _ in range(kills):
        clients = [
            Client(engines[n % 2], hosts, rng.getrandbits(64)) for n in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        time.sleep(rng.uniform(0.3, 1.0))
        server.kill()
        time.sleep(rng.uniform(0.0, 0.3))
        server.start()
        before = sum(len(client.granted) for client in clients)
        _until_granted(clients, before + 20)
        for client in clients:
            client.stop.set()
        for client in clients:
            client.join(60)
            granted |= client.granted
            unknown |= client.unknown
        for books in engines:
            _check(books, hosts, granted, unknown)
    for books in engines:
        books.close()
    server.drop(url)
    told = {
        "kills": kills,
        "acknowledged": len(granted),
        "without an answer": len(unknown),
    }
    record_property("told", (f"kill -9 of {server.name} under load", told))


def _check(
    books: Gantt, hosts: list[str], granted: set[str], unknown: set[str]
) -> None:
    found: dict[str, int] = {}
    for host in hosts:
        for consumer in books.get_provider_allocations(host).allocations:
            found[consumer] = found.get(consumer, 0) + 1
    assert granted <= set(found), f"seed {SEED}: lost {granted - set(found)}"
    assert set(found) <= granted | unknown, f"seed {SEED}: from nowhere"
    assert set(found.values()) <= {2}, f"seed {SEED}: half a claim"
    assert books.verify().problems == ()


def _until_granted(clients: list[Client], count: int) -> None:
    until(lambda: sum(len(client.granted) for client in clients) >= count, 60)
