"""How large Gantt is for so many hosts and instances: memory, disk, and how long a
backup and a restore take."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import gantt
from bench.books import resident_mb
from bench.report import Row, megabytes, say
from gantt.bench.bench_fleets import INSTANCE, BenchFleet, fleet_of, uuid_of
from gantt.bench.figures import duration
from gantt.bench.fleet_setup import furnish, writing
from gantt.bench.servers import Server, program
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.commands import ConsumerAllocations
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.databases import Databases, DatabaseServer, Postgres, execute

SIZES = (1_000, 10_000)
PER_HOST = 10
DECISIONS = 2_000
CALLERS = 8
PER_WRITE = 200
BYTES_PER_MB = 1_000_000
SMALL = Flavor(vcpus=1, memory_mb=1_024, root_gb=10)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; databases and logs are in ``folder``."""
    for hosts in (int(size * scale) for size in SIZES):
        fleet = fleet_of("flat", hosts, is_mixed=False)
        yield from _in_sqlite(folder, fleet)
    with Databases(is_durable=True) as databases:
        server = databases.server(Postgres.name)
        for hosts in (int(size * scale) for size in SIZES):
            fleet = fleet_of("flat", hosts, is_mixed=False)
            yield from _in_postgresql(server, folder, fleet)


def _what(kind: str, fleet: BenchFleet) -> str:
    hosts = len(fleet.hosts)
    return f"{kind}, {hosts:,} hosts, {hosts * PER_HOST:,} instances"


def _in_sqlite(folder: Path, fleet: BenchFleet) -> Iterator[Row]:
    what = _what("SQLite", fleet)
    file, backup, again = (folder / f"{n}-{len(fleet.hosts)}.db" for n in "abc")
    url = f"sqlite:///{file}"
    _fill(url, fleet)
    yield from _served(url, folder, what)

    def size() -> float:
        return file.stat().st_size / BYTES_PER_MB

    yield from _stored(url, what, size)
    yield _backed_up(what, lambda: _vacuum(file, backup), backup)

    def restore() -> None:
        shutil.copy(backup, again)

    yield _restored(what, restore, f"sqlite:///{again}")


def _vacuum(file: Path, backup: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"VACUUM INTO '{backup}'")


def _in_postgresql(
    server: DatabaseServer, folder: Path, fleet: BenchFleet
) -> Iterator[Row]:
    what, url, again = _what("PostgreSQL", fleet), server.new(), server.new()
    _fill(url, fleet)
    yield from _served(url, folder, what, workers=2)

    def size() -> float:
        ((found,),) = execute(url, "SELECT pg_database_size(current_database())")
        return float(found) / BYTES_PER_MB

    yield from _stored(url, what, size)
    dump = folder / f"{len(fleet.hosts)}.dump"
    plain = {one: one.replace("+psycopg", "") for one in (url, again)}
    backup = ["pg_dump", "--format=custom", f"--file={dump}", plain[url]]
    restore = "pg_restore --clean --if-exists --single-transaction".split()
    tools = server.programs
    yield _backed_up(what, lambda: _run(tools, *backup), dump)
    command = (*restore, f"--dbname={plain[again]}", str(dump))
    yield _restored(what, lambda: _run(tools, *command), again)


def _run(tools: Path, command: str, *arguments: str) -> None:
    subprocess.run([tools / command, *arguments], check=True, capture_output=True)


def _fill(url: str, fleet: BenchFleet) -> None:
    """Hosts that report, and instances of three classes on each."""
    say(f"sizing: {fleet.name} ...")
    names = [host.uuid for host in fleet.hosts] * PER_HOST
    amounts = {"VCPU": 1, "MEMORY_MB": 1_024, "DISK_GB": 10}
    claims = [
        ConsumerAllocations(
            uuid_of(INSTANCE, number), {name: amounts}, "p", "u", None, "INSTANCE"
        )
        for number, name in enumerate(names)
    ]
    patient = EngineOptions(wait_s=600.0, answer_timeout_s=600.0)
    with (
        closing(gantt.connect(url, create=True, options=patient)) as books,
        writing() as each,
    ):
        assert isinstance(books, Gantt)
        furnish(books, fleet, lambda *_: None)
        blocks = range(0, len(claims), PER_WRITE)
        each(lambda at: books.set_allocations(claims[at : at + PER_WRITE]), blocks)


def _served(url: str, folder: Path, what: str, workers: int = 1) -> Iterator[Row]:
    path = f"/resource_providers/{fleet_of('flat', 1, is_mixed=False).hosts[0].uuid}"
    with Server.gantt_on(url, folder, workers=workers, ready_path=path) as server:
        with closing(gantt.connect(server.url)) as books:

            def decide(_: int) -> None:
                spec, names = RequestSpec(SMALL, project_id="p"), (str(uuid4()),)
                request = ScheduleRequest(spec, names, request_id=f"req-{names[0]}")
                books.schedule(request)

            with ThreadPoolExecutor(CALLERS) as callers:
                list(callers.map(decide, range(DECISIONS)))
        of = f"after {DECISIONS:,} decisions"
        told = f"{what}: resident, {workers} {'workers' if workers > 1 else 'worker'}"
        yield Row(told, "", f"{megabytes(resident_mb(server))} {of}")


def _stored(url: str, what: str, size: Callable[[], float]) -> Iterator[Row]:
    """Of the database as a whole, and of what in it has a limit of its own."""
    yield Row(f"{what}: database", "", megabytes(size()))
    latest = "SELECT changes AS one FROM gantt_log ORDER BY revision DESC LIMIT"
    for name, of in (
        ("rows of gantt_log by decisions", f"{latest} {DECISIONS}"),
        ("rows of gantt_decisions", "SELECT record AS one FROM gantt_decisions"),
    ):
        asked = f"SELECT COUNT(*), SUM(LENGTH(one)) FROM ({of}) AS latest"
        ((count, total),) = execute(url, asked)
        each = int(total or 0) / max(1, count)
        yield Row(f"{what}: {name}", "", f"{each:,.0f} bytes")


def _backed_up(what: str, act: Callable[[], None], file: Path) -> Row:
    took = _timed(act)
    size = megabytes(file.stat().st_size / BYTES_PER_MB)
    return Row(f"{what}: backup", "", f"{duration(took)}, {size}")


def _restored(what: str, act: Callable[[], None], url: str) -> Row:
    took = _timed(act)
    check = [program("gantt-manage"), "--database", url, "verify"]
    checked = _timed(lambda: _run(Path(check[0]).parent, *check))
    return Row(
        f"{what}: restore", "", f"{duration(took)}, and {duration(checked)} to verify"
    )


def _timed(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
