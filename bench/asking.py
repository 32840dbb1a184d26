"""Time consecutive requests over one connection.

Gantt and upstream are called by the same client in turn, so that other load on the
machine affects both. The client parses as little HTTP as possible: http.client takes
twice as long for a response as the server program for an empty one.
"""

from __future__ import annotations

import json
import socket
import time
from statistics import median

from msgspec import Struct

from bench.server import HEADERS, Server

PATIENCE_S = 120.0

_HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())


class Client:
    """A persistent connection to one server."""

    def __init__(self, server: Server, wait_s: float = PATIENCE_S) -> None:
        self._socket = socket.create_connection(
            ("127.0.0.1", server.port), timeout=wait_s
        )
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def ask(self, path: str) -> bytes:
        """The body of the answer. Raises RuntimeError unless it is a 200, and
        TimeoutError."""
        question = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{_HEAD}\r\n"
        self._socket.sendall(question.encode())
        status = self._answers.readline()
        length = 0
        while (line := self._answers.readline().lower()) not in (b"\r\n", b""):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = self._answers.read(length)
        if b" 200 " not in status or not body:
            raise RuntimeError(f"{path}: {status!r} {body[:500]!r}")
        return body

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
