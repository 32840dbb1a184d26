"""``make bench``: the speed of this machine's Gantt, as one table.

Over HTTP with keep-alive, SQLite with synchronous=FULL, the load from wrk on the same
processors. Nothing here fails for being slow.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import books, load
from bench.server import Server

CROWD = 32


def measure_small(folder: Path, table: Table) -> None:
    """Claims and reads over a hundred providers."""
    providers = books.fill(
        folder / "small.db", providers=books.SMALL_FLEET, allocations=0
    )
    with Server(folder / "small.db") as server:
        crowd = load.claims(server, folder, providers, connections=CROWD, run=1)
        _add(table, f"PUT /allocations, {CROWD} connections", crowd, "3,000/s")
        disk = books.durable_commits_per_s(folder)
        alone = load.claims(server, folder, providers, connections=1, run=2)
        _add(table, "PUT /allocations, 1 connection", alone, "50 % of the next line")
        table.add_row("the disk's own commits, one by one", f"{disk:,.0f}/s", "", "")
        read = load.reads(server, folder, providers, connections=CROWD)
        _add(table, f"GET inventories, {CROWD} connections", read, "5,000/s")


def measure_large(folder: Path, table: Table) -> None:
    """A cold start with large books."""
    providers = books.fill(
        folder / "large.db",
        providers=books.LARGE_FLEET,
        allocations=books.LARGE_ALLOCATIONS,
    )
    ready_path = f"/resource_providers/{providers[-1]}/usages"
    with Server(folder / "large.db", ready_path) as server:
        what = f"{books.LARGE_FLEET:,} x 3 classes, {books.LARGE_ALLOCATIONS:,} claims"
        table.add_row(f"cold start, {what}", f"{server.start_s:.2f} s", "", "3 s")
        table.add_row("resident then", f"{server.resident_mb():.0f} MB", "", "250 MB")


def _add(table: Table, what: str, found: load.Load, goal: str) -> None:
    failed = f", {found.failures} FAILED" if found.failures else ""
    table.add_row(
        what,
        f"{found.per_s:,.0f}/s{failed}",
        f"{found.median_ms:.1f} / {found.p99_ms:.1f} ms",
        goal,
    )


def main() -> None:
    """Measure everything and print it."""
    table = Table(title=f"Gantt on {os.cpu_count()} processors")
    for heading in ("what", "measured", "median / 99 %", "goal"):
        table.add_column(heading)
    with tempfile.TemporaryDirectory(prefix="gantt-bench-", dir="var") as name:
        folder = Path(name).resolve()
        measure_small(folder, table)
        measure_large(folder, table)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
