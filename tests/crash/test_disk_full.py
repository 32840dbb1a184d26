"""A disk that takes no more, under load: who is told so, and what is kept.

The disk (tests/small_disk.py) is that of the service on SQLite, else that of a server,
which also ends while it is full. The service goes on by itself.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import exc

from gantt.conf import ServeOptions
from tests import small_disk
from tests.crash.load import HEADERS, Client
from tests.crash.test_kill import CLIENTS, ROUNDS, SEED, _check, _prepare
from tests.databases import Databases, DatabaseServer
from tests.kinds import KINDS
from tests.live import start
from tests.waiting import until

# Of the four queues of a worker.
LIMIT = 4 * ServeOptions().waiting_requests
FULL = "disk is full: make room"


class Patient(Client):
    """Goes on when it is told that nothing can be written."""

    def __init__(self, address: str, providers: list[str], seed: int) -> None:
        super().__init__(address, providers, seed)
        self.told: Counter[int] = Counter()
        self.texts: Counter[str] = Counter()

    def hear(self, method: str, consumer: str, status: int, text: str) -> None:
        self.told[status] += 1
        if status != 503:
            super().hear(method, consumer, status, text)
            return
        detail = json.loads(text)["errors"][0]["detail"]
        self.texts[detail] += 1
        if "not known" in detail:  # also to the service
            self.history.unknown.add(consumer)
        elif method == "DELETE":  # nothing was kept, so it is still there
            self.history.acknowledged.add(consumer)
        time.sleep(0.01)


class Observer(threading.Thread):
    """Looks at the generations of providers, which never fall."""

    def __init__(self, address: str, providers: list[str]) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.fell: list[str] = []
        self._address = address
        self.seen = dict.fromkeys(providers, 0)

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        while not self.stop.wait(0.02):
            for provider, seen in self.seen.items():
                connection.request(
                    "GET", f"/resource_providers/{provider}", None, HEADERS
                )
                answer = connection.getresponse()
                body = answer.read()
                if answer.status != 200:
                    continue
                now = json.loads(body)["generation"]
                self.seen[provider] = now
                if now < seen:
                    self.fell.append(f"{provider}: {now} after {seen}")


class Disk:
    """The disk of a database: of the process itself, or of a ``server``."""

    def __init__(self, folder: Path, server: DatabaseServer | None) -> None:
        self.full = folder / "full"
        self._folder = folder
        self._server = server

    @property
    def within(self) -> list[str]:
        """What to put before the command of the service."""
        return [] if self._server else small_disk.command(self._folder, self.full)

    def fill(self) -> None:
        """From now on nothing grows."""
        self.full.touch()

    def end_server(self) -> bool:
        """PostgreSQL ends by itself when it cannot begin a new file of its log. False:
        there is no server."""
        if self._server is None:
            return False
        if self._server.name == "mariadb":
            self._server.kill()
        with suppress(exc.DBAPIError):
            while self._server.is_running:
                self._server.execute("SELECT pg_switch_wal()", "CREATE ROLE one")
                self._server.execute("DROP ROLE one")
        until(lambda: not (self._server and self._server.is_running))
        return True

    def free(self) -> None:
        """There is room again, and a server."""
        self.full.unlink()
        if self._server is not None and not self._server.is_running:
            self._server.start(disk_full=self.full)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on."""
    if not small_disk.is_possible():
        pytest.skip("a full disk: this kernel has no seccomp listeners")
    return str(request.param)


@pytest.fixture
def place(
    kind: str, tmp_path: Path, databases: Databases
) -> Iterator[tuple[str, Disk]]:
    """Where the books are, and the disk below them."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path}/books.db", Disk(tmp_path, None)
        return
    server = databases.server(kind)
    disk = Disk(server.folder, server)
    with databases.database(kind) as url:
        server.stop()
        server.start(disk_full=disk.full)
        try:
            yield url, disk
        finally:
            disk.full.unlink(missing_ok=True)
            server.stop()
            server.start()


def test_full_disk_is_reported_and_loses_nothing(
    kind: str, place: tuple[str, Disk], tmp_path: Path, record_property: Any
) -> None:
    rng = random.Random(SEED)
    database, disk = place
    providers = _prepare(database)
    workers = 1 if kind == "sqlite" else 2
    options = ("--auth", "noauth2", "--workers", str(workers))
    live = start(database, tmp_path / "log", options=options, within=disk.within)
    address = live.url.removeprefix("http://")
    clients = [Patient(address, providers, rng.getrandbits(64)) for _ in range(CLIENTS)]
    observer = Observer(address, providers)
    ends, rounds = 0, max(1, ROUNDS // 6)
    # A worker that finds no database as it starts, twice, ends the service.
    until(lambda: _waiting_limit(address) == workers * LIMIT)
    try:
        for thread in (*clients, observer):
            thread.start()
        for number in range(rounds):
            _hear(clients, 204)
            disk.fill()
            _hear(clients, 503)
            ends += (rounds - number) % 2 and disk.end_server()
            disk.free()
        _hear(clients, 204)
    finally:
        for client in clients:
            client.stop.set()
        observer.stop.set()
        for thread in (*clients, observer):
            thread.join()
        live.stop()
    told: Counter[int] = sum((client.told for client in clients), Counter())
    texts: Counter[str] = sum((client.texts for client in clients), Counter())
    assert FULL in (tmp_path / "log").read_text()
    assert not any(FULL in text for text in texts), texts
    assert not observer.fell
    assert all(observer.seen.values())
    kept = _check(database, providers, set(), list(clients), f"seed {SEED}")
    amounts = {
        "times full": rounds,
        "ends of the server": ends,
        "acknowledged": told[204],
        "told why not": told[503],
        "without an answer": sum(len(one.history.unknown) for one in clients),
    }
    record_property("told", (f"A full disk under load on {kind}", amounts))
    assert kept


def _hear(clients: list[Patient], status: int) -> None:
    """Wait until they have been answered so twenty times more."""
    before = sum(client.told[status] for client in clients)
    until(lambda: sum(client.told[status] for client in clients) > before + 20)


def _waiting_limit(address: str) -> float:
    """What all workers that serve have together."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    found = re.search(r"^gantt_requests_waiting_limit (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0
