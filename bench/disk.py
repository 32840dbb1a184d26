"""The commit rate of the disk alone, to compare the server with."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path


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
