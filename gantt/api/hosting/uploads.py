"""Reads request bodies in the event loop: each within a deadline, all within a limit
of memory.

The rest of a refused one is read for a moment, so that its sender gets the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from gantt.api.call import Environ
from gantt.api.wire.problem import Problem

RETRY_AFTER_S = 1
# How much of a refused body is read, and for how long.
DRAINED_BYTES = 64 * 1024
DRAINED_S = 1.0
# Smaller bodies are not counted; the number of connections limits them.
SMALL = 8 * 1024
# Larger ones are read piece by piece. Up to this a body is read at once, which is a
# third of the work, and counted with its whole length from the beginning.
WHOLE = 64 * 1024

TOO_LONG, TOO_SLOW, TOO_MANY = "body_too_long", "body_too_slow", "bodies_full"
DRAINING = "draining"


_MOST_DIGITS = 20


class RsgiTransport(Protocol):
    """The body of an answer that is sent in pieces."""

    async def send_bytes(self, data: bytes) -> None:
        """Raises RuntimeError when the client has gone."""


class RsgiExchange(Protocol):
    """A request of granian's RSGI, and how to answer it."""

    async def __call__(self) -> bytes:
        """The whole body."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The body as it comes."""

    async def client_disconnect(self) -> None:
        """Return when the client has gone."""

    def response_bytes(
        self, status: int, headers: list[tuple[str, str]], body: bytes
    ) -> None: ...

    def response_stream(
        self, status: int, headers: list[tuple[str, str]]
    ) -> RsgiTransport: ...


class BodyLimits(Struct, frozen=True):
    """For one body: ``most_bytes``, ``timeout_s``. For all large bodies of unanswered
    requests: ``all_bytes``."""

    most_bytes: int
    timeout_s: float
    all_bytes: int


class BodyCutOff(Exception):
    """The request was cut off within its body."""


class NotRead(Exception):
    """A body was given up: ``reason`` for metrics, ``problem`` for the answer."""

    def __init__(self, reason: str, problem: Problem) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problem = problem


class Bodies:
    """The bodies of unanswered requests; used in the event loop only."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        self.held = 0
        # Bodies that are being read, with their tasks, by deadline.
        self._readers: dict[RequestBody, asyncio.Task[object]] = {}
        self._is_over = False

    @property
    def reading(self) -> int:
        """Bodies that are being read."""
        return len(self._readers)

    def begin(self, environ: Environ, exchange: RsgiExchange) -> RequestBody:
        """The body of a request with a body."""
        text: str = environ.get("CONTENT_LENGTH", "")
        # int() refuses thousands of digits, leading zeros included.
        digits = text.lstrip("0")[:_MOST_DIGITS] or "0"
        return RequestBody(exchange, int(digits) if text.isdecimal() else None)

    async def read(self, body: RequestBody, now: float) -> bytes:
        """All of ``body``, counted until ``let_go``. Raises NotRead, BodyCutOff."""
        limits = self.limits
        if body.length is not None and body.length > limits.most_bytes:
            raise self._refusal(body, TOO_LONG)
        if self._is_over:
            raise self._refusal(body, DRAINING)
        task = asyncio.current_task()
        assert task is not None
        body.deadline = now + limits.timeout_s
        self._readers[body] = task
        try:
            if body.length is not None and body.length <= WHOLE:
                if body.length > SMALL:
                    self._hold(body, body.length)
                found = await body.whole()
            else:
                found = await self._gather(body)
        except asyncio.CancelledError:
            if not body.given_up:
                raise
            task.uncancel()
            raise self._refusal(body, body.given_up) from None
        finally:
            del self._readers[body]
        if body.is_cut(len(found)):
            raise BodyCutOff
        body.is_whole = True
        return found

    async def _gather(self, body: RequestBody) -> bytes:
        chunks, size = [], 0
        while (chunk := await body.next_chunk()) is not None:
            size += len(chunk)
            if size > self.limits.most_bytes:
                raise self._refusal(body, TOO_LONG)
            if size > SMALL:
                self._hold(body, size)
            chunks.append(chunk)
        return b"".join(chunks)

    def _hold(self, body: RequestBody, size: int) -> None:
        """Count ``size`` bytes. The oldest unfinished bodies make room: senders that
        never finish must not keep others out."""
        self.held += size - body.held
        body.held = size
        while self.held > self.limits.all_bytes:
            oldest = next(one for one in self._readers if one.held)
            if oldest is body:
                raise self._refusal(body, TOO_MANY)
            self._give_up(oldest, TOO_MANY)

    def _give_up(self, body: RequestBody, reason: str) -> None:
        """Make the task that reads ``body`` refuse it."""
        if not body.given_up:
            self.let_go(body)
            body.given_up = reason
            self._readers[body].cancel()

    def let_go(self, body: RequestBody) -> None:
        """Stop counting ``body``: its request was answered."""
        self.held -= body.held
        body.held = 0

    def _refusal(self, body: RequestBody, reason: str) -> NotRead:
        self.let_go(body)
        limits = self.limits
        if reason == TOO_LONG:
            text = f"A body may have at most {limits.most_bytes} bytes."
            return NotRead(reason, Problem(413, text))
        if reason == TOO_SLOW:
            text = f"The body did not arrive within {limits.timeout_s:g} s."
            return NotRead(reason, Problem(408, text))
        if reason == DRAINING:
            text = "The service is stopping before the body has arrived. Try again."
        else:
            text = (
                f"The bodies of all requests together may have {limits.all_bytes} "
                "bytes, and all are in use. Try again later."
            )
        later = (("retry-after", str(RETRY_AFTER_S)),)
        return NotRead(reason, Problem(503, text, headers=later))

    def expire(self, now: float) -> None:
        """Give up bodies past their deadlines."""
        for body in self._readers:
            if body.deadline > now and not self._is_over:
                return
            self._give_up(body, DRAINING if self._is_over else TOO_SLOW)

    def give_up(self) -> None:
        """Give up all bodies, and any that begin from now on."""
        self._is_over = True
        self.expire(0.0)


class RequestBody:
    """The body of one request. ``length`` None: unknown."""

    __slots__ = (
        "_chunks",
        "_empty",
        "deadline",
        "exchange",
        "given_up",
        "held",
        "is_whole",
        "length",
    )

    def __init__(self, exchange: RsgiExchange, length: int | None) -> None:
        self.exchange = exchange
        self.length = length
        self.held = 0
        self.is_whole = False
        self.deadline = 0.0
        self.given_up = ""
        self._empty = 0
        self._chunks: AsyncIterator[bytes] | None = None

    async def whole(self) -> bytes:
        """The body in one piece. Raises BodyCutOff."""
        try:
            return await self.exchange()
        except RuntimeError as error:  # granian: the client has gone
            raise BodyCutOff from error

    async def next_chunk(self) -> bytes | None:
        """The next piece; None after the last. Raises BodyCutOff."""
        try:
            if self._chunks is None:  # granian allows this once
                self._chunks = aiter(self.exchange)
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        except RuntimeError as error:
            raise BodyCutOff from error
        self._empty += not chunk
        return chunk

    def is_cut(self, size: int) -> bool:
        """Whether the body was cut off after ``size`` bytes.

        granian ends every body with one empty chunk. An empty chunk before that stands
        for an error or trailers.
        """
        return self._empty > 1 if self.length is None else size < self.length

    async def drain(self) -> None:
        """Read and discard more for a moment. Closing a connection while its client
        still sends would discard the answer as well."""
        seen = 0
        try:
            async with asyncio.timeout(DRAINED_S):
                while (chunk := await self.next_chunk()) is not None:
                    seen += len(chunk)
                    if seen > DRAINED_BYTES:
                        return
        except (TimeoutError, BodyCutOff):
            return  # read in part before, or the client has gone
