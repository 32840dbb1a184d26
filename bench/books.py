"""The books themselves: claims and reads under load, and a cold start."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from bench import fleet, load
from bench.report import KB_PER_MB, Row, at_most, megabytes, say
from gantt.bench.servers import Server, family

SMALL_FLEET = 100
LARGE_FLEET = 10_000
LARGE_ALLOCATIONS = 100_000
CROWD = 32

CLAIMS_PER_S = 3_000
CLAIMS_PER_COMMIT = 0.5
READS_PER_S = 5_000
START_S = 3.0
RESIDENT_MB = 250


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; databases and logs are in ``folder``."""
    yield from _under_load(folder)
    yield from _cold_start(folder, scale)


def _under_load(folder: Path) -> Iterator[Row]:
    say("books: claims and reads ...")
    members = fleet.flat(SMALL_FLEET)
    providers = [one.uuid for one in members]
    fleet.write(folder / "small.db", members)
    with Server.gantt(folder / "small.db") as server:
        crowd = load.claims(server, folder, providers, connections=CROWD, run=1)
        work = f"PUT /allocations, {CROWD} connections"
        yield load.row(work, crowd, CLAIMS_PER_S)
        # The speed of the disk varies: measure it before and after.
        before = durable_commits_per_s(folder)
        alone = load.claims(server, folder, providers, connections=1, run=2)
        commits = mean((before, durable_commits_per_s(folder)))
        share = alone.per_s / commits
        yield Row(
            "PUT /allocations, 1 connection",
            f"≥ {CLAIMS_PER_COMMIT:.0%} of the disk's own commits",
            load.summary(alone),
            ratio=f"{share:.0%} of {commits:,.0f}/s",
            is_met=share >= CLAIMS_PER_COMMIT and not alone.failures,
        )
        read = load.reads(server, folder, providers, connections=CROWD)
        yield load.row(f"GET inventories, {CROWD} connections", read, READS_PER_S)


def _cold_start(folder: Path, scale: float) -> Iterator[Row]:
    providers = int(LARGE_FLEET * scale)
    allocations = int(LARGE_ALLOCATIONS * scale)
    what = f"{providers:,} × 3 classes, {allocations:,} claims"
    say(f"books: {what} ...")
    members = fleet.flat(providers)
    fleet.write(folder / "large.db", members, allocations=allocations)
    ready_path = f"/resource_providers/{members[-1].uuid}/usages"
    with Server.gantt(folder / "large.db", ready_path) as server:
        yield at_most(f"cold start, {what}", START_S, server.start_s)
        yield at_most("resident then", RESIDENT_MB, resident_mb(server), megabytes)


def resident_mb(server: Server) -> float:
    """Memory of the server's processes that is in RAM; a page that several of them
    share counts once."""
    return sum(map(_resident_kb, family(server.pid))) / KB_PER_MB


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def durable_commits_per_s(folder: Path, seconds: float = 3.0) -> float:
    """One row per commit, one after the other: the limit of the disk for one
    connection."""
    connection = sqlite3.connect(folder / "commits.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, text)")
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (text) VALUES (?)", ("x" * 200,))
        connection.execute("COMMIT")
        count += 1
    elapsed = time.perf_counter() - began
    connection.close()
    return count / elapsed
