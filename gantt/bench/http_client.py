"""A persistent connection that asks Gantt and upstream Placement alike.

It parses as little HTTP as possible: http.client takes twice as long for a response as
the server program for an empty one.
"""

from __future__ import annotations

import socket
from contextlib import suppress

from gantt.bench.servers import HEADERS, Server

WAIT_S = 120.0

_HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())


class Client:
    """A persistent connection to one server."""

    def __init__(self, server: Server, wait_s: float = WAIT_S) -> None:
        self._server = server
        self._wait_s = wait_s
        self._connect()

    def _connect(self) -> None:
        place = "127.0.0.1", self._server.port
        self._socket = socket.create_connection(place, timeout=self._wait_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def ask(self, path: str) -> bytes:
        """The body of the answer. Raises RuntimeError unless it is a 200, and
        TimeoutError."""
        status, body = self.exchange("GET", path)
        if status != 200 or not body:
            raise RuntimeError(f"{path}: {status} {body[:500]!r}")
        return body

    def exchange(
        self, method: str, path: str, body: bytes | None = None
    ) -> tuple[int, bytes]:
        """The status and the body of the answer. Raises TimeoutError, RuntimeError."""
        more = ""
        if body is not None:
            more = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        question = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{_HEAD}{more}\r\n"
        status = self._begin(question.encode() + (body or b""))
        length = 0
        while (line := self._answers.readline().lower()) not in (b"\r\n", b""):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return int(status.split()[1]), self._answers.read(length)

    def _begin(self, question: bytes) -> bytes:
        """The first line of the answer; a server hangs up a connection that was idle
        for long, and is then asked over a new one."""
        for _ in range(2):
            with suppress(BrokenPipeError, ConnectionResetError):
                self._socket.sendall(question)
                if status := self._answers.readline():
                    return status
            self.close()
            self._connect()
        raise RuntimeError(f"no answer: {question[:200]!r}")

    def close(self) -> None:
        """Hang up."""
        self._answers.close()
        self._socket.close()
