"""A server on loopback that answers as `POST /gantt/advise` does, or badly.

What it does with a connection is a function of the socket and the request, so that it
can do what no HTTP library would.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request: its path, headers in lower case, and body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    connection: int


Behaviour = Callable[[socket.socket, Asked], object]


def respond(
    sock: socket.socket, body: bytes, status: str = "200 OK", head: str = ""
) -> None:
    """A whole answer that keeps the connection."""
    length = f"Content-Length: {len(body)}\r\n"
    sock.sendall(f"HTTP/1.1 {status}\r\n{length}{head}\r\n".encode() + body)


def answer(asked: Asked, **changed: object) -> dict[str, Any]:
    """The answer in the native form: the last host is the best, none is refused."""
    hosts = [
        {**host, "weight": 1.0, "refused_by": None} for host in asked.body["hosts"]
    ]
    return {
        "hosts": hosts[::-1],
        "decided": True,
        "why": "",
        "decision": "req-1",
        **changed,
    }


def advise(sock: socket.socket, asked: Asked) -> None:
    """Reverse the order of the hosts."""
    respond(sock, json.dumps(answer(asked)).encode())


def saying(document: Callable[[Asked], object]) -> Behaviour:
    """Answer with this document."""
    return lambda sock, asked: respond(sock, json.dumps(document(asked)).encode())


def refusing(*names: str) -> Behaviour:
    """Refuse the hosts of these names; the others as they came."""

    def document(asked: Asked) -> object:
        said = answer(asked)
        for host in said["hosts"]:
            host["refused_by"] = "RamFilter" if host["host"] in names else None
        said["hosts"].sort(key=lambda host: host["refused_by"] is not None)
        return said

    return saying(document)


@dataclass
class FakeGantt:
    """Listens until `close`; ``behave`` may be exchanged at any time."""

    behave: Behaviour = advise
    asked: list[Asked] = field(default_factory=list)
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.closing = threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def connections(self) -> int:
        """How many were accepted so far."""
        return len(self._sockets)

    def close(self) -> None:
        """End every connection, and refuse new ones."""
        self.closing.set()
        # Wakes the thread that accepts, whose system call keeps the port otherwise.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    def hang_up(self) -> None:
        """End every connection."""
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(sock)
            number = len(self._sockets)
            threading.Thread(
                target=self._serve, args=(sock, number), daemon=True
            ).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
                self._sockets[number - 1] = sock  # the other one is detached
            stream = stack.enter_context(stack.enter_context(sock).makefile("rb"))
            while (asked := _read(stream, number)) is not None:
                self.asked.append(asked)
                self.behave(sock, asked)


def _read(stream: Any, number: int) -> Asked | None:
    start = stream.readline().decode()
    if not start:
        return None
    headers = {}
    while line := stream.readline().decode().strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Asked(start.split()[1], headers, json.loads(body), number)
