"""From a WSGI application to granian's RSGI: what it answers, sent from its thread.

A list is sent in one piece; anything else chunk by chunk, as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress

from gantt.api.call import Environ
from gantt.api.hosting.envelope import WsgiApp
from gantt.api.hosting.reading import Exchange, Transport

Headers = list[tuple[str, str]]
# How soon the thread of a stream looks whether it is still wanted.
_TURN_S = 0.5


class Answer:
    """What the application said: ``chunks`` None: all is in ``body``."""

    __slots__ = ("body", "chunks", "headers", "status")

    def __init__(self) -> None:
        self.status = 500
        self.headers: Headers = []
        self.body = b""
        self.chunks: Iterable[bytes] | None = None

    def start(self, status: str, headers: Headers, _exc_info: object = None) -> None:
        """PEP 3333's start_response."""
        self.status = int(status[:3])
        self.headers = headers

    def without_body(self) -> Answer:
        """The same as the answer to a HEAD."""
        found = Answer()
        found.status, found.headers = self.status, self.headers
        return found


def ask(app: WsgiApp, environ: Environ) -> Answer:
    """Raises what the application raises."""
    answer = Answer()
    found: Iterable[bytes] = app(environ, answer.start)
    if isinstance(found, list):
        answer.body = found[0] if len(found) == 1 else b"".join(found)
    else:
        answer.chunks = found
    return answer


def send(exchange: Exchange, answer: Answer) -> None:
    """In one piece."""
    exchange.response_bytes(answer.status, answer.headers, answer.body)


class Stream:
    """An answer that is sent while it is made, by the thread that makes it.

    ``is_over``: whether the server has no more time for it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        exchange: Exchange,
        is_over: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._exchange = exchange
        self._is_over = is_over
        self._is_gone = False

    def run(self, answer: Answer, chunks: Iterable[bytes]) -> None:
        """Until all is said or the client has gone. Raises what making it raises."""
        watch = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)
        try:
            transport = self._exchange.response_stream(answer.status, answer.headers)
            for chunk in chunks:
                if self._is_gone or (chunk and not self._say(transport, chunk)):
                    break
        finally:
            watch.cancel()
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def _say(self, transport: Transport, chunk: bytes) -> bool:
        """Whether ``chunk`` was taken."""
        saying = asyncio.run_coroutine_threadsafe(_sent(transport, chunk), self._loop)
        while True:
            try:
                return saying.result(_TURN_S)
            except NotYet:
                if self._is_gone or self._is_over():
                    saying.cancel()
                    return False

    async def _watch(self) -> None:
        with suppress(RuntimeError):
            await self._exchange.client_disconnect()
        self._is_gone = True


async def _sent(transport: Transport, chunk: bytes) -> bool:
    try:
        await transport.send_bytes(chunk)
    except RuntimeError:  # granian's word for: the client has gone
        return False
    return True
