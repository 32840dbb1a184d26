"""Bodies of requests, read in the event loop: each within its time, all within so much
memory, and what is left of a refused one for a moment, so that its sender hears why.

Apart from the front because no thread ever waits for a client, whatever it sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from gantt.api.call import Environ
from gantt.api.wire.problem import Problem

RETRY_AFTER_S = 1
# What is read of a body that was refused, and for how long.
DRAINED_BYTES = 64 * 1024
DRAINED_S = 1.0
# Bodies up to here are not counted: connections are, and that is limit enough.
SMALL = 8 * 1024

TOO_LONG, TOO_SLOW, TOO_MANY = "body_too_long", "body_too_slow", "bodies_full"
DRAINING = "draining"


_MOST_DIGITS = 20


class Transport(Protocol):
    """The body of an answer that is sent in pieces."""

    async def send_bytes(self, data: bytes) -> None:
        """Raises RuntimeError when the client has gone."""


class Exchange(Protocol):
    """A request of granian's RSGI, and the way to answer it."""

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
    ) -> Transport: ...


class BodyLimits(Struct, frozen=True):
    """Of one body: ``most_bytes``, ``timeout_s``. Of all large ones that were read and
    are not answered yet: ``all_bytes``."""

    most_bytes: int
    timeout_s: float
    all_bytes: int


class Gone(Exception):
    """The request broke off in the middle of its body."""


class NotRead(Exception):
    """A body was given up: ``reason`` for metrics, ``problem`` for the answer."""

    def __init__(self, reason: str, problem: Problem) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problem = problem


class Bodies:
    """Bodies under way; all of it in the event loop."""

    def __init__(self, limits: BodyLimits) -> None:
        self.limits = limits
        # Bytes of large bodies whose requests are not answered yet.
        self.held = 0
        # Bodies that are being read, by which tasks; in the order of their deadlines.
        self._readers: dict[Body, asyncio.Task[object]] = {}
        self._is_over = False

    @property
    def reading(self) -> int:
        """How many are being read."""
        return len(self._readers)

    def begin(self, environ: Environ, exchange: Exchange) -> Body:
        """The body of a request that has one."""
        text: str = environ.get("CONTENT_LENGTH", "")
        # Python reads no number of thousands of digits, leading zeros included.
        digits = text.lstrip("0")[:_MOST_DIGITS] or "0"
        return Body(exchange, int(digits) if text.isdecimal() else None)

    async def read(self, body: Body, now: float) -> bytes:
        """All of ``body``, its bytes held until ``let_go``. Raises NotRead, Gone."""
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
            if body.length is not None and body.length <= SMALL:
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
            raise Gone
        body.is_whole = True
        return found

    async def _gather(self, body: Body) -> bytes:
        chunks, size = [], 0
        while (chunk := await body.next_chunk()) is not None:
            size += len(chunk)
            if size > self.limits.most_bytes:
                raise self._refusal(body, TOO_LONG)
            if size > SMALL:
                self._hold(body, size)
            chunks.append(chunk)
        return b"".join(chunks)

    def _hold(self, body: Body, size: int) -> None:
        """Bodies that began earlier make room: a sender that does not come to its end
        must not keep others from theirs."""
        self.held += size - body.held
        body.held = size
        while self.held > self.limits.all_bytes:
            oldest = next(one for one in self._readers if one.held)
            if oldest is body:
                raise self._refusal(body, TOO_MANY)
            self._give_up(oldest, TOO_MANY)

    def _give_up(self, body: Body, reason: str) -> None:
        """Have the task that reads ``body`` refuse it."""
        if not body.given_up:
            self.let_go(body)
            body.given_up = reason
            self._readers[body].cancel()

    def let_go(self, body: Body) -> None:
        """The request was answered."""
        self.held -= body.held
        body.held = 0

    def _refusal(self, body: Body, reason: str) -> NotRead:
        self.let_go(body)
        limits = self.limits
        if reason == TOO_LONG:
            text = f"A body may have at most {limits.most_bytes} bytes."
            return NotRead(reason, Problem(413, text))
        if reason == TOO_SLOW:
            text = f"The body did not arrive within {limits.timeout_s:g} s."
            return NotRead(reason, Problem(408, text))
        if reason == DRAINING:
            text = "The service stops, and the body has not arrived. Try again."
        else:
            text = (
                f"The bodies of all requests together may have {limits.all_bytes} "
                "bytes, which are in use. Try again later."
            )
        later = (("retry-after", str(RETRY_AFTER_S)),)
        return NotRead(reason, Problem(503, text, headers=later))

    def expire(self, now: float) -> None:
        """Give up those whose time is over."""
        for body in self._readers:
            if body.deadline > now and not self._is_over:
                return
            self._give_up(body, DRAINING if self._is_over else TOO_SLOW)

    def give_up(self) -> None:
        """All of them, and those that begin from now on."""
        self._is_over = True
        self.expire(0.0)


class Body:
    """The body of one request, as far as it was read. ``length`` None: not known."""

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

    def __init__(self, exchange: Exchange, length: int | None) -> None:
        self.exchange = exchange
        self.length = length
        self.held = 0
        self.is_whole = False
        self.deadline = 0.0
        self.given_up = ""
        self._empty = 0
        self._chunks: AsyncIterator[bytes] | None = None

    async def whole(self) -> bytes:
        """All of it in one piece. Raises Gone."""
        try:
            return await self.exchange()
        except RuntimeError as error:  # granian's word for: the client has gone
            raise Gone from error

    async def next_chunk(self) -> bytes | None:
        """What comes next of it; None: that was all. Raises Gone."""
        try:
            if self._chunks is None:  # granian allows to ask for it once
                self._chunks = aiter(self.exchange)
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return None
        except RuntimeError as error:
            raise Gone from error
        self._empty += not chunk
        return chunk

    def is_cut(self, size: int) -> bool:
        """Whether it ended, after ``size`` bytes, before its end.

        granian ends any body with one empty chunk. Another one before that is what it
        makes of an error, and of trailers.
        """
        return self._empty > 1 if self.length is None else size < self.length

    async def drain(self) -> None:
        """Read on for a moment and forget it. A connection that is closed over what
        its client still sends takes the answer with it."""
        seen = 0
        try:
            async with asyncio.timeout(DRAINED_S):
                while (chunk := await self.next_chunk()) is not None:
                    seen += len(chunk)
                    if seen > DRAINED_BYTES:
                        return
        except (TimeoutError, Gone):
            return  # it was given up in the middle, or the client has gone
