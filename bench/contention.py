"""Two processes on one MariaDB claim on one provider: lost claims and overcommitment.

Not about speed: upstream overcommits here and loses acknowledged claims, so Gantt gets
the same load. Clients come in pairs, one at each process. In half of their steps both
claim for the same new consumer, like a caller that retries too early; otherwise each
for its own. Granted claims are released now and then, and a provider that is nearly
full refuses many.
"""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import create_engine, text

from bench import fleet
from bench.report import Row, say
from gantt.bench.http_client import Client
from gantt.bench.servers import Server
from gantt.model.commands import Inventory
from tests.databases import Databases, Mariadb

CAPACITY = 28
PAIRS = 4
STEPS = 150
SEED = 16
SAMPLE_S = 0.002

_GRANTED, _GONE, _REFUSED = 204, 404, 409
_USE = "SELECT coalesce(sum(used), 0) FROM allocations"
_OWNED = (
    "SELECT consumers.uuid, sum(used) FROM allocations "
    "JOIN consumers ON consumers.uuid = allocations.consumer_id GROUP BY 1"
)
_OWNERLESS = (
    "SELECT count(*) FROM allocations LEFT JOIN consumers "
    "ON consumers.uuid = allocations.consumer_id WHERE consumers.uuid IS NULL"
)


class Heard(Struct):
    """What clients received, and what the database had; uses in VCPU."""

    requests: int = 0
    granted: int = 0
    lost: int = 0
    strange: int = 0
    highest: int = 0
    samples: int = 0
    above: int = 0
    ownerless: int = 0
    holds: dict[str, int] = field(default_factory=dict)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite."""
    steps = max(1, int(STEPS * scale))
    with Databases() as databases:
        server = databases.server(Mariadb.name)
        ours = server.new()
        stock = {"VCPU": Inventory(total=CAPACITY)}
        (one,) = fleet.flat(1)
        fleet.write(ours, [replace(one, inventories=stock)])
        theirs = server.copy(ours)
        found = [
            _fight(ours, folder, one.uuid, steps, Server.gantt_on),
            _fight(theirs, folder, one.uuid, steps, Server.upstream_on),
        ]
    yield from _rows(*found)


def _rows(ours: Heard, theirs: Heard) -> Iterator[Row]:
    yield Row(
        f"2 processes, 1 provider, {2 * PAIRS} clients: requests",
        "",
        f"{ours.requests:,}, {ours.granted:,} claims granted",
        f"{theirs.requests:,}, {theirs.granted:,} claims granted",
    )
    yield Row(
        "highest use seen",
        f"≤ {CAPACITY} of {CAPACITY}",
        str(ours.highest),
        str(theirs.highest),
        is_met=ours.highest <= CAPACITY,
    )
    yield Row(
        "samples in which use was above capacity",
        "0",
        f"{ours.above:,} of {ours.samples:,}",
        f"{theirs.above:,} of {theirs.samples:,}",
        is_met=not ours.above,
    )
    for what, our, their in (
        ("acknowledged claims lost", ours.lost, theirs.lost),
        ("allocations left without a consumer", ours.ownerless, theirs.ownerless),
        ("answers other than 204 and 409", ours.strange, theirs.strange),
    ):
        yield Row(what, "0", f"{our:,}", f"{their:,}", is_met=not our)


def _fight(
    url: str,
    folder: Path,
    provider: str,
    steps: int,
    serve: Callable[[str, Path], Server],
) -> Heard:
    """Two processes of one kind, all pairs at once, and the database at the end."""
    say(f"contention: {serve.__name__} ...")
    heard = Heard()
    with ExitStack() as servers:
        clients = []
        for number in (1, 2):
            own = folder / f"{serve.__name__}-{number}"
            own.mkdir()
            clients.append(servers.enter_context(serve(url, own)))
        sampler = Sampler(url, heard)
        pairs = [Pair(clients, provider, number) for number in range(PAIRS)]
        with ThreadPoolExecutor(PAIRS) as running:
            list(running.map(lambda pair: pair.run(steps), pairs))
        sampler.close()
    _settle(url, heard, pairs)
    return heard


def _settle(url: str, heard: Heard, pairs: list[Pair]) -> None:
    """Add up what the pairs received, and compare it with the database."""
    for pair in pairs:
        one = pair.heard
        heard.requests += one.requests
        heard.granted += one.granted
        heard.lost += one.lost
        heard.strange += one.strange
        heard.holds |= one.holds
    engine = create_engine(url)
    with engine.connect() as connection:
        there = {row[0]: int(row[1]) for row in connection.execute(text(_OWNED))}
        heard.ownerless = int(connection.execute(text(_OWNERLESS)).scalar_one())
    engine.dispose()
    heard.lost += sum(there.get(one) != used for one, used in heard.holds.items())


class Pair:
    """Two clients in step, each with its own process."""

    def __init__(self, servers: list[Server], provider: str, number: int) -> None:
        self.heard = Heard()
        self._provider = provider
        self._rng = random.Random(f"{SEED} {number}")
        self._clients = [Client(server) for server in servers]
        self._both_at_once = ThreadPoolExecutor(len(servers))

    def run(self, steps: int) -> None:
        """All steps, one after the other."""
        with self._both_at_once:
            for _ in range(steps):
                self._claim()
                if self._rng.random() < 0.5:
                    self._give_back()
        for client in self._clients:
            client.close()

    def _claim(self) -> None:
        """Both at once; a consumer is held once either was granted it."""
        mine, other = (str(uuid.UUID(int=self._rng.getrandbits(128))) for _ in "12")
        consumers = [mine, mine if self._rng.random() < 0.5 else other]
        used = self._rng.choice((1, 2, 3))
        body = json.dumps(
            {
                "allocations": {self._provider: {"resources": {"VCPU": used}}},
                "project_id": "p",
                "user_id": "u",
                "consumer_generation": None,
                "consumer_type": "INSTANCE",
            }
        ).encode()
        statuses = self._both("PUT", consumers, body)
        for consumer, status in zip(consumers, statuses, strict=True):
            if status == _GRANTED:
                self.heard.granted += 1
                self.heard.holds[consumer] = used
            elif status != _REFUSED:
                self.heard.strange += 1

    def _give_back(self) -> None:
        """Release up to two held consumers at once; one that is not found was lost."""
        held = sorted(self.heard.holds)
        chosen = self._rng.sample(held, min(2, len(held)))
        for consumer, status in zip(
            chosen, self._both("DELETE", chosen, None), strict=True
        ):
            del self.heard.holds[consumer]
            if status == _GONE:
                self.heard.lost += 1
            elif status != _GRANTED:
                self.heard.strange += 1

    def _both(self, method: str, consumers: list[str], body: bytes | None) -> list[int]:
        """The statuses of one request to each process, sent at the same time."""

        def ask(client: Client, consumer: str) -> int:
            return client.exchange(method, f"/allocations/{consumer}", body)[0]

        self.heard.requests += len(consumers)
        return list(self._both_at_once.map(ask, self._clients, consumers))


class Sampler:
    """Samples the usage directly in the database until closed."""

    def __init__(self, url: str, heard: Heard) -> None:
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT")
        self._heard = heard
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """No more samples."""
        self._stop.set()
        self._thread.join()
        self._engine.dispose()

    def _run(self) -> None:
        with self._engine.connect() as connection:
            while not self._stop.is_set():
                used = int(connection.execute(text(_USE)).scalar_one())
                self._heard.samples += 1
                self._heard.above += used > CAPACITY
                self._heard.highest = max(self._heard.highest, used)
                time.sleep(SAMPLE_S)
