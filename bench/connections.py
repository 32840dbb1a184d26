"""Many kept connections at once, for load that wrk cannot make: each request differs.

Every connection has one request under way, so that as many wait at the server as there
are connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final

from msgspec import Struct

from gantt.bench.servers import HEADERS

PATIENCE_S: Final = 600.0
_LATER: Final = b"HTTP/1.1 503"
_PAUSE_S: Final = 0.2


class Sent(Struct, frozen=True):
    """``seconds``: from the first byte to the last answer; ``bodies``: of the answers,
    in the order of the requests; ``in_bytes``: of whole answers; ``turned_away``: how
    many answers asked for the same again later, which was done."""

    seconds: float
    bodies: list[bytes]
    in_bytes: int
    turned_away: int


def post(path: str, body: bytes) -> bytes:
    """A whole request."""
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    return (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\n{head}"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body


class Connections:
    """``count`` connections to a server on this machine, as a context manager."""

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._count = count
        self._loop = asyncio.new_event_loop()

    def send(self, requests: Sequence[bytes]) -> Sent:
        """Send all of ``requests``. Raises RuntimeError: an answer was not 200."""
        return self._loop.run_until_complete(self._send(requests))

    def __enter__(self) -> Connections:
        self._all = self._loop.run_until_complete(self._connect())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._all:
            one.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _connect(self) -> list[_Connection]:
        found = []
        for _ in range(self._count):
            _, one = await self._loop.create_connection(
                _Connection, "127.0.0.1", self._port
            )
            found.append(one)
        return found

    async def _send(self, requests: Sequence[bytes]) -> Sent:
        work = _Work(requests, self._loop.create_future())
        began = time.perf_counter()
        for one in self._all[: len(requests)]:
            one.begin(work)
        async with asyncio.timeout(PATIENCE_S):
            await work.done
        return Sent(
            time.perf_counter() - began, work.bodies, work.in_bytes, work.turned_away
        )


class _Work:
    """What is to be sent, and what came back."""

    def __init__(self, requests: Sequence[bytes], done: asyncio.Future[None]) -> None:
        self.requests = requests
        self.places: Iterator[int] = iter(range(len(requests)))
        self.left = len(requests)
        self.bodies: list[bytes] = [b""] * len(requests)
        self.in_bytes = self.turned_away = 0
        self.done = done

    def answered(self, place: int, head: bytes, body: bytes) -> None:
        self.bodies[place] = body
        self.in_bytes += len(head) + len(body)
        self.left -= 1
        if not head.startswith(b"HTTP/1.1 200"):
            self.fail(f"{head[:40]!r}: {body[:500]!r}")
        elif not self.left and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self._work: _Work
        self._place = -1
        self._found = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._place >= 0:
            self._work.fail(f"a connection was closed: {exc}")

    def begin(self, work: _Work) -> None:
        self._work = work
        self._send_next()

    def _send_next(self) -> None:
        self._place = next(self._work.places, -1)
        if self._place >= 0:
            self._write()

    def _write(self) -> None:
        self.transport.write(self._work.requests[self._place])

    def data_received(self, data: bytes) -> None:
        self._found += data
        head, between, body = self._found.partition(b"\r\n\r\n")
        if not between or len(body) < _length(head):
            return
        self._found = b""
        if head.startswith(_LATER):
            self._work.turned_away += 1
            asyncio.get_running_loop().call_later(_PAUSE_S, self._write)
            return
        self._work.answered(self._place, head + between, body)
        self._send_next()


def _length(head: bytes) -> int:
    """The length of the body that follows ``head``."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
