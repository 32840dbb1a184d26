"""Several processes over one PostgreSQL: claims, reads, log tailers, and a large load.

A private server with synced files, on the same processors as its clients. Upstream runs
beside Gantt on a copy of the same database.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import fleet, load
from bench.report import KB_PER_MB, Row, at_most, megabytes, say
from gantt.bench.servers import Server
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.changes import LogEntry
from gantt.store import open_store
from tests.databases import Databases, DatabaseServer, Postgres, execute

PROVIDERS = 10_000
LARGE_PROVIDERS = 100_000
LARGE_ALLOCATIONS = 1_000_000
CROWD = 32
POLL_MS = 20

CLAIMS_PER_S = 2_500
TIMES_UPSTREAM = 50
STRICT_MS = 1.0
SHARE_OF_TWO = 0.6
LAG_S = 0.050
LOAD_S = 10.0
LOAD_MB = 1_500

_LOAD = """
import resource, sys, time
from gantt.engine.reading.log_tailer import load_state
from gantt.store import open_store
store = open_store(sys.argv[1])
began = time.perf_counter()
state = load_state(store)
seconds = time.perf_counter() - began
assert sum(1 for _ in state.rows("allocations")) == int(sys.argv[2])
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; the server's files are temporary."""
    with Databases(is_durable=True) as databases:
        server = databases.server(Postgres.name)
        url = server.new()
        members = fleet.flat(int(PROVIDERS * scale))
        say(f"processes: {len(members):,} providers ...")
        fleet.write(url, members)
        providers = [one.uuid for one in members]
        yield from _claims(server, url, folder, providers)
        yield from _reads(url, folder, providers)
        yield from _large(server, scale)


def _claims(
    server: DatabaseServer, url: str, folder: Path, providers: list[str]
) -> Iterator[Row]:
    theirs = server.copy(url)
    rates: dict[int, float] = {}
    for workers in (2, 3, 4):
        say(f"processes: claims with {workers} workers ...")
        with Server.gantt_on(url, folder, workers=workers) as served:
            lags = Lags(url) if workers == 2 else None
            found = load.claims(
                served, folder, providers, connections=CROWD, run=workers
            )
            rates[workers] = found.per_s
            work = f"PUT /allocations, {workers} workers, {CROWD} connections"
            if lags is None:
                share = found.per_s / rates[2]
                yield Row(
                    work,
                    f"≥ {SHARE_OF_TWO:.0%} of two workers",
                    load.summary(found),
                    ratio=f"{share:.0%}",
                    is_met=share >= SHARE_OF_TWO and not found.failures,
                )
                continue
            yield load.row(work, found, CLAIMS_PER_S)
            late_s = lags.close() / 1000
            work = f"behind under that load, 99 % of {lags.count:,} revisions"
            yield at_most(work, LAG_S, late_s)
    say("processes: upstream's claims ...")
    with Server.upstream_on(theirs, folder, workers=2) as upstream:
        found = load.claims(upstream, folder, providers, connections=CROWD, run=9)
    yield Row(
        "the same, against upstream on the same PostgreSQL",
        f"≥ {TIMES_UPSTREAM}×",
        f"{rates[2]:,.0f}/s",
        load.summary(found),
        f"{rates[2] / max(found.per_s, 0.1):,.0f}×",
        rates[2] >= TIMES_UPSTREAM * found.per_s,
    )


def _reads(url: str, folder: Path, providers: list[str]) -> Iterator[Row]:
    medians: dict[str, list[float]] = {"strict": [], "bounded": []}
    for _ in range(3):
        for freshness, found in medians.items():
            say(f"processes: {freshness} reads ...")
            with Server.gantt_on(url, folder, freshness=freshness) as served:
                one = load.reads(served, folder, providers, connections=1)
            found.append(one.median_ms)
    strict, bounded = (statistics.median(found) for found in medians.values())
    yield Row(
        "GET inventories, strict against bounded, 1 connection",
        f"≤ {STRICT_MS:g} ms more",
        f"{strict:.2f} against {bounded:.2f} ms",
        ratio=f"{strict - bounded:+.2f} ms",
        is_met=strict - bounded <= STRICT_MS,
    )


def _large(server: DatabaseServer, scale: float) -> Iterator[Row]:
    providers = int(LARGE_PROVIDERS * scale)
    allocations = int(LARGE_ALLOCATIONS * scale)
    what = f"{allocations:,} allocations on {providers:,} providers"
    say(f"processes: {what} ...")
    url = server.new()
    execute(url, *_filling(providers, allocations))
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, url, str(allocations)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, kilobytes = map(float, done.stdout.split())
    yield at_most(f"load, {what}", LOAD_S, seconds)
    work = "resident at most while loading"
    yield at_most(work, LOAD_MB, kilobytes / KB_PER_MB, megabytes)


def _filling(providers: int, allocations: int) -> list[str]:
    """A database with ten allocations of one class per provider."""
    now = "now() AT TIME ZONE 'UTC'"
    uuid = "lpad(to_hex(n), 8, '0') || '-0000-4000-8000-00000000000{}'"
    return [
        f"INSERT INTO resource_classes VALUES ({now}, NULL, 0, 'VCPU')",
        f"INSERT INTO projects VALUES ({now}, NULL, 1, 'bench')",
        f"INSERT INTO users VALUES ({now}, NULL, 1, 'bench')",
        f"INSERT INTO consumer_types VALUES ({now}, NULL, 1, 'INSTANCE')",
        "INSERT INTO resource_providers (created_at, id, uuid, name, generation, "
        f"root_provider_id) SELECT {now}, n, {uuid.format(1)}, 'host-' || n, 1, n "
        f"FROM generate_series(1, {providers}) n",
        "INSERT INTO inventories (created_at, id, resource_provider_id, "
        "resource_class_id, total, reserved, min_unit, max_unit, step_size, "
        f"allocation_ratio) SELECT {now}, n, n, 0, 1000, 0, 1, 1000, 1, 1.0 "
        f"FROM generate_series(1, {providers}) n",
        "INSERT INTO consumers (created_at, id, uuid, project_id, user_id, generation, "
        f"consumer_type_id) SELECT {now}, n, {uuid.format(2)}, 1, 1, 1, 1 "
        f"FROM generate_series(1, {allocations}) n",
        "INSERT INTO allocations (created_at, id, resource_provider_id, consumer_id, "
        f"resource_class_id, used) SELECT {now}, n, 1 + mod(n, {providers}), "
        f"{uuid.format(2)}, 0, 1 FROM generate_series(1, {allocations}) n",
        "ANALYZE",
    ]


class Lags:
    """A process that only reads: it polls every ``POLL_MS`` and records how old each
    revision is when it arrives. A revision's time is that of its plan, so the commit
    counts as delay, too."""

    def __init__(self, url: str) -> None:
        self._found_ms: list[float] = []
        self._books = Gantt(open_store(url), EngineOptions(poll_ms=POLL_MS))
        follow = self._books._replica.follow

        def noted(entries: list[LogEntry]) -> None:
            follow(entries)
            now = time.time_ns() // 1000
            self._found_ms += [(now - entry.at) / 1000 for entry in entries]

        self._books._replica.follow = noted  # type: ignore[assignment,method-assign]

    @property
    def count(self) -> int:
        """Revisions so far."""
        return len(self._found_ms)

    def close(self) -> float:
        """Stop; the 99th percentile in milliseconds."""
        self._books.close()
        if len(self._found_ms) < 100:
            return math.nan
        return statistics.quantiles(self._found_ms, n=100)[98]
