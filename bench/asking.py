"""One question after another over one connection, and the time of each.

Gantt and upstream are asked by the same client and in turn, so that whatever else the
machine does falls on both.
"""

from __future__ import annotations

import http.client
import json
import time
from statistics import median

from msgspec import Struct

from bench.server import HEADERS, Server

PATIENCE_S = 120.0


class Client:
    """A connection that is kept, to one server."""

    def __init__(self, server: Server, patience_s: float = PATIENCE_S) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=patience_s
        )

    def ask(self, path: str) -> bytes:
        """The body of the answer. Raises RuntimeError unless it is a 200."""
        self._connection.request("GET", path, headers=HEADERS)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:500]!r}")
        return body

    def count(self, path: str) -> int:
        """How many candidates there are."""
        return len(json.loads(self.ask(path))["allocation_requests"])

    def times(self, path: str, times: int) -> list[float]:
        """Seconds from the question to the last byte of the answer, each time."""
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self.ask(path)
            taken.append(time.perf_counter() - began)
        return taken


class Runner(Struct, frozen=True):
    """Who is asked what, how often in each round and in how many rounds."""

    client: Client
    path: str
    times: int
    rounds: int


def medians(runners: list[Runner]) -> list[float]:
    """The median seconds of each; they take turns, after one question unmeasured."""
    for runner in runners:
        runner.client.ask(runner.path)
    taken: list[list[float]] = [[] for _ in runners]
    for turn in range(max(runner.rounds for runner in runners)):
        for runner, found in zip(runners, taken, strict=True):
            if turn < runner.rounds:
                found += runner.client.times(runner.path, runner.times)
    return [median(found) for found in taken]
