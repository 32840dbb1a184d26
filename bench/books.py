"""Books to measure on, and what the disk under them can do."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import gantt
from gantt.model.commands import ConsumerAllocations, Inventory
from gantt.model.protocol import GanttProtocol

SMALL_FLEET = 100
LARGE_FLEET = 10_000
LARGE_ALLOCATIONS = 100_000
CONSUMERS_PER_WRITE = 200
# So many wait for the gate at once, which makes batches of that size.
WRITERS = 64

ROOMY = {
    "VCPU": Inventory(total=100_000_000),
    "MEMORY_MB": Inventory(total=2_000_000_000),
    "DISK_GB": Inventory(total=2_000_000_000),
}


def uuids(count: int, kind: int) -> list[str]:
    """The same uuids at every run; ``kind`` keeps providers and consumers apart."""
    return [str(UUID(int=kind << 96 | number)) for number in range(1, count + 1)]


def fill(database: Path, *, providers: int, allocations: int) -> list[str]:
    """New books with so many providers of three classes and so many allocations.

    Returns the providers' uuids.
    """
    books = gantt.connect(f"sqlite:///{database}")
    known = uuids(providers, kind=1)
    try:
        with ThreadPoolExecutor(WRITERS) as writers:
            _wait(writers.map(lambda uuid: _enter(books, uuid), known))
            consumers = uuids(allocations, kind=2)
            shares = [
                [
                    _claim(consumer, known[(start + i) % providers])
                    for i, consumer in enumerate(
                        consumers[start : start + CONSUMERS_PER_WRITE]
                    )
                ]
                for start in range(0, allocations, CONSUMERS_PER_WRITE)
            ]
            _wait(writers.map(books.set_allocations, shares))
    finally:
        books.close()
    return known


def _wait(answers: Iterable[None]) -> None:
    for _ in answers:
        pass


def _enter(books: GanttProtocol, uuid: str) -> None:
    books.create_provider(f"host-{uuid[-12:]}", uuid=uuid)
    books.set_inventories(uuid, ROOMY)


def _claim(consumer: str, provider: str) -> ConsumerAllocations:
    return ConsumerAllocations(
        consumer, {provider: {"VCPU": 1}}, "bench", "bench", None, "INSTANCE"
    )


def durable_commits_per_s(folder: Path, seconds: float = 3.0) -> float:
    """One row per commit, one after the other: what the disk allows one connection."""
    connection = sqlite3.connect(folder / "commits.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (text) VALUES (?)", ("x" * 200,))
        connection.execute("COMMIT")
        count += 1
    elapsed = time.perf_counter() - began
    connection.close()
    return count / elapsed
