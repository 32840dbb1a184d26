"""From the start of ``gantt serve`` to its first answer: hosts that report, with ten
instances each, on SQLite and on a private PostgreSQL.

What a start takes without any host is measured beside it: programs and modules, of
which no book is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import gantt
from bench import fleet
from bench.report import Row, at_most, say
from gantt.bench.bench_fleets import INSTANCE, BenchFleet, fleet_of, uuid_of
from gantt.bench.fleet_setup import furnish
from gantt.bench.servers import Server
from gantt.engine.gantt import Gantt
from gantt.model.commands import ConsumerAllocations
from gantt.model.fleet import FleetStatement
from gantt.model.hosts import Instance
from gantt.store import schema
from tests.databases import Databases, Postgres

HOSTS: Final = 10_000
INSTANCES: Final = 10
START_S: Final = 3.0
ASKED: Final = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512&limit=1"
TURNS: Final = 3


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """Both databases; the best of some starts, since others use this machine too."""
    hosts = max(10, int(HOSTS * scale))
    with Databases() as servers:
        urls = {
            "SQLite": f"sqlite:///{folder}/start.db",
            "PostgreSQL": servers.server(Postgres.name).new(),
        }
        for name, url in urls.items():
            say(f"start: {hosts:,} hosts on {name} ...")
            schema.sync(url)
            empty_s = started_s(url, folder, "/resource_classes")
            fill(url, fleet_of("flat", hosts, is_mixed=True))
            full_s = started_s(url, folder, ASKED)
            what = f"{hosts:,} hosts, {INSTANCES * hosts:,} instances on {name}"
            yield at_most(f"start to first answer, {what}", START_S, full_s)
            yield Row("of this without any host", "", f"{empty_s:.2f} s")


def started_s(url: str, folder: Path, path: str) -> float:
    """Seconds until it answers ``path``."""
    found = []
    for _ in range(TURNS):
        with Server.gantt_on(url, folder, ready_path=path) as server:
            found.append(server.start_s)
    return min(found)


def fill(url: str, members: BenchFleet) -> None:
    """The books of ``members``, with instances that hosts report and that hold what
    they use."""
    with closing(gantt.connect(url)) as books:
        assert isinstance(books, Gantt)
        furnish(books, members, lambda *_: None)
        numbers = {
            host.name: range(INSTANCES * at, INSTANCES * (at + 1))
            for at, host in enumerate(members.hosts)
        }
        said = FleetStatement(
            instances={
                name: tuple(Instance(uuid_of(INSTANCE, one)) for one in mine)
                for name, mine in numbers.items()
            }
        )
        books.set_fleet(said)
        claims = (
            ConsumerAllocations(
                uuid_of(INSTANCE, one), {host.uuid: {"DISK_GB": 1}}, "bench", "bench"
            )
            for host in members.hosts
            for one in numbers[host.name]
        )
        for block in fleet.blocks(claims, fleet.CONSUMERS_PER_WRITE):
            books.set_allocations(block)
