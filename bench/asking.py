"""Time consecutive requests over one connection.

Gantt and upstream are called by the same client in turn, so that other load on the
machine affects both.
"""

from __future__ import annotations

import json
import time
from statistics import median

from msgspec import Struct

from gantt.bench.http_client import Client as BenchClient


class Client(BenchClient):
    """A persistent connection to one server."""

    def offers(self, path: str) -> list[list[str]]:
        """The providers of each candidate."""
        found = json.loads(self.ask(path))["allocation_requests"]
        return [list(one["allocations"]) for one in found]

    def times(self, path: str, times: int) -> list[float]:
        """Seconds from each request to the last byte of its response."""
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self.ask(path)
            taken.append(time.perf_counter() - began)
        return taken


class Runner(Struct, frozen=True):
    """A connection, its path, requests per round and rounds."""

    client: Client
    path: str
    times: int
    rounds: int


def medians(runners: list[Runner]) -> list[float]:
    """The median seconds of each; they take turns, after one unmeasured request."""
    for runner in runners:
        runner.client.ask(runner.path)
    taken: list[list[float]] = [[] for _ in runners]
    for turn in range(max(runner.rounds for runner in runners)):
        for runner, found in zip(runners, taken, strict=True):
            if turn < runner.rounds:
                found += runner.client.times(runner.path, runner.times)
    return [median(found) for found in taken]
