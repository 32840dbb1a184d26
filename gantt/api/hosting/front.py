"""Receives every request of ``gantt serve``, in the event loop of a worker.

    head -> its kind: health and metrics (one answer for all that ask at once),
            long searches, look-ups of allocations, all others
         -> a look-up that has to wait for nothing is answered here
         -> its whole body, within the deadline and the memory for all bodies
         -> a thread for that kind: the WSGI application, which answers

No thread ever waits for a client, and no kind of request takes the threads of another.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from io import BytesIO
from time import monotonic

from gantt.api.access.auth import CONFIRMED, UNCONFIRMED, Confirmed
from gantt.api.call import AT_ONCE, UNREAD, Environ
from gantt.api.hosting.pools import Job, JobPool, Pools, SharedAnswer
from gantt.api.hosting.rsgi import (
    CLOSE,
    AnswerStream,
    HttpAnswer,
    Scope,
    ask,
    environ_of,
    send,
)
from gantt.api.hosting.unconfirmed_tokens import Seat
from gantt.api.hosting.uploads import (
    RETRY_AFTER_S,
    BodyCutOff,
    NotRead,
    RequestBody,
    RsgiExchange,
)
from gantt.api.middleware import MOUNT, WsgiApp
from gantt.api.routes import is_look_up
from gantt.api.wire.problem import Problem
from gantt.engine.reading.reader import WouldWait

LOG = logging.getLogger(__name__)

QUEUE_FULL = "queue_full"
_MANY_UNCONFIRMED = (
    "Too many requests, from this address or in all, wait for Keystone to confirm "
    "their tokens (unconfirmed_threads, unconfirmed_per_address, waiting_requests). "
    "Try again later."
)
# How often deadlines and the run directory are checked.
TURN_S = 0.25
# How long jobs wait for busy threads before more threads are woken.
CATCH_UP_S = 0.001
# When the server stops: how long bodies may still arrive, and then, with no request in
# progress, how long clients may still read their answers.
LAST_BODIES_S = 1.0
LAST_ANSWERS_S = 2.0

_LIVE = ("/livez", f"{MOUNT}/livez")


class _Done:
    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_DONE = _Done()


class Front:
    """``app`` as an RSGI application. ``turned_away`` answers requests for which there
    is no thread; ``is_stopping``: whether the server stops now; ``serves`` is called
    once requests are accepted."""

    def __init__(
        self,
        app: WsgiApp,
        pools: Pools,
        *,
        turned_away: WsgiApp,
        refused: Callable[[str], None],
        is_stopping: Callable[[], bool],
        serves: Callable[[], None] | None = None,
    ) -> None:
        self._serves = serves
        self._app = app
        self._turned_away = turned_away
        self._refused = refused
        self._is_stopping = is_stopping
        self._pools = pools
        self._bodies = pools.bodies
        # Answered by threads, but not noted by the loop yet.
        self._answered: deque[asyncio.Future[HttpAnswer | None]] = deque()
        self._under_way = 0
        # Pools that wake more threads in a moment.
        self._overdue: set[JobPool | Seat] = set()
        self._stopping_since = self._idle_since = 0.0

    # ---------------------------------------------------------------- granian's calls

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_later(TURN_S, self._turn)
        if self._serves is not None:
            # granian runs the loop once it listens.
            loop.call_soon(self._serves)

    def __rsgi__(self, scope: Scope, exchange: RsgiExchange) -> Awaitable[object]:
        if self._answered:
            self._settle()
        environ = environ_of(scope)
        if environ.get("CONTENT_LENGTH", "0") != "0" or (
            "HTTP_TRANSFER_ENCODING" in environ
        ):
            return self._with_body(environ, exchange)
        environ["wsgi.input"] = BytesIO()
        if _is_livez(environ):
            send(exchange, ask(self._app, environ))
            return _DONE
        shared = self._shared_of(environ)
        if shared is not None:
            return self._share(shared, environ, exchange)
        answer = self._at_once(environ)
        if answer is not None:
            send(exchange, answer)
            return _DONE
        handed = self._hand(self._pools.pool_for(environ), environ, exchange)
        if handed is None:
            send(exchange, self._refusal(environ))
            return _DONE
        return handed

    # ------------------------------------------------------------------------ requests

    def _at_once(self, environ: Environ) -> HttpAnswer | None:
        """The answer of a look-up; None: it is no look-up, or has to wait."""
        path = environ["PATH_INFO"].removeprefix(MOUNT)
        if not is_look_up(environ["REQUEST_METHOD"], path):
            return None
        try:
            # A copy, because the application changes it.
            return ask(self._app, {**environ, AT_ONCE: True})
        except WouldWait:
            return None

    def _shared_of(self, environ: Environ) -> SharedAnswer | None:
        return self._pools.shared_for(environ["REQUEST_METHOD"], environ["PATH_INFO"])

    async def _share(
        self, shared: SharedAnswer, environ: Environ, exchange: RsgiExchange
    ) -> None:
        send(exchange, await self._of_shared(shared, environ))

    async def _of_shared(self, shared: SharedAnswer, environ: Environ) -> HttpAnswer:
        as_get = {**environ, "REQUEST_METHOD": "GET"}
        answer = await shared.answer(partial(ask, self._app, as_get))
        return answer.without_body() if environ["REQUEST_METHOD"] == "HEAD" else answer

    def _hand(
        self,
        pool: JobPool | Seat,
        environ: Environ,
        exchange: RsgiExchange,
        *,
        is_sent: bool = True,
    ) -> asyncio.Future[HttpAnswer | None] | None:
        """A future of the answer, or of None once it is sent; None: not accepted."""
        answered: asyncio.Future[HttpAnswer | None] = self._loop.create_future()
        if isinstance(pool, Seat):
            environ[UNCONFIRMED] = True
        job = partial(self._carry_out, environ, exchange, answered, is_sent)
        if not pool.take(job):
            return None
        self._wake(pool)
        self._under_way += 1
        return answered

    def _wake(self, pool: JobPool | Seat) -> None:
        if pool.waiting and pool not in self._overdue:
            self._overdue.add(pool)
            self._loop.call_later(CATCH_UP_S, self._catch_up, pool)

    def _refusal(self, environ: Environ) -> HttpAnswer:
        self._refused(QUEUE_FULL)
        environ[UNREAD] = Problem(
            503,
            _MANY_UNCONFIRMED
            if UNCONFIRMED in environ
            else "The queue for threads is full (waiting_requests). Try again later.",
            headers=(("retry-after", str(RETRY_AFTER_S)),),
        )
        return ask(self._turned_away, environ)

    def _carry_out(
        self,
        environ: Environ,
        exchange: RsgiExchange,
        answered: asyncio.Future[HttpAnswer | None],
        is_sent: bool,
    ) -> None:
        """In a thread. The loop learns later that the client has its answer: waking it
        for each request would cost as much as a small request."""
        go_on = partial(self._carry_out, environ, exchange, answered, is_sent)
        try:
            answer = self._ask(environ, go_on)
            if answer is None:
                return
            if answer.chunks is not None:
                stream = AnswerStream(self._loop, exchange, self._is_stopping)
                stream.run(answer, answer.chunks)
            elif not is_sent:
                self._loop.call_soon_threadsafe(self._conclude, answered, answer)
                return
            else:
                send(exchange, answer)
        except BaseException:  # of a plug-in, say: the thread must survive
            LOG.exception("%(REQUEST_METHOD)s %(PATH_INFO)s failed", environ)
        # Without an answer granian says 500.
        self._answered.append(answered)

    def _ask(self, environ: Environ, go_on: Job) -> HttpAnswer | None:
        """In a thread. None: the token was confirmed, for which there are few threads;
        the request goes on in those for it, as any other."""
        if environ.pop(UNCONFIRMED, None) is None:
            return ask(self._app, environ)
        try:
            # A copy, because the application changes it.
            return ask(self._app, {**environ, UNCONFIRMED: True})
        except Confirmed as found:
            environ[CONFIRMED] = found.caller
        pool = self._pools.pool_for(environ)
        if not pool.take(go_on):
            return self._refusal(environ)
        self._loop.call_soon_threadsafe(self._wake, pool)
        return None

    async def _with_body(self, environ: Environ, exchange: RsgiExchange) -> None:
        body = self._bodies.begin(environ, exchange)
        try:
            answer = await self._answer(environ, exchange, body)
            if answer is not None:
                await self._leave(body, exchange, answer)
        except BodyCutOff:
            # Only a client that sends trailers, or has closed its half, reads this.
            send(exchange, _cut_off())
        finally:
            self._bodies.let_go(body)

    async def _answer(
        self, environ: Environ, exchange: RsgiExchange, body: RequestBody
    ) -> HttpAnswer | None:
        """The answer; None: it was sent. Raises BodyCutOff."""
        environ["wsgi.input"] = BytesIO()
        if _is_livez(environ):
            return ask(self._app, environ)
        shared = self._shared_of(environ)
        if shared is not None:
            return await self._of_shared(shared, environ)
        try:
            found = await self._bodies.read(body, monotonic())
            environ["wsgi.input"] = BytesIO(found)
        except NotRead as why:
            self._refused(why.reason)
            environ[UNREAD] = why.problem
        pool = self._pools.pool_for(environ)
        handed = self._hand(pool, environ, exchange, is_sent=body.is_whole)
        return self._refusal(environ) if handed is None else await handed

    async def _leave(
        self, body: RequestBody, exchange: RsgiExchange, answer: HttpAnswer
    ) -> None:
        """Answer, and close the connection if the body has not been read."""
        if body.is_whole:
            send(exchange, answer)
            return
        if CLOSE not in answer.headers:
            answer.headers.append(CLOSE)
        transport = exchange.response_stream(answer.status, answer.headers)
        try:
            if answer.body:
                await transport.send_bytes(answer.body)
        except RuntimeError:  # granian: the client has gone
            return
        await body.drain()

    # ---------------------------------------------------------------------- the loop's

    def _conclude(
        self, answered: asyncio.Future[HttpAnswer | None], answer: HttpAnswer | None
    ) -> None:
        self._under_way -= 1
        if not answered.done():  # granian may have given it up
            answered.set_result(answer)

    def _catch_up(self, pool: JobPool | Seat) -> None:
        self._overdue.discard(pool)
        pool.catch_up()

    def _settle(self) -> None:
        while self._answered:
            self._conclude(self._answered.popleft(), None)

    def _turn(self) -> None:
        """Housekeeping, every quarter of a second."""
        self._loop.call_later(TURN_S, self._turn)
        self._settle()
        now = monotonic()
        self._bodies.expire(now)
        if not self._stopping_since:
            if self._is_stopping():
                self._stopping_since = now
            return
        if now - self._stopping_since >= LAST_BODIES_S:
            self._bodies.give_up()
        if self._under_way or self._bodies.reading:
            self._idle_since = 0.0
        elif not self._idle_since:
            self._idle_since = now
        elif now - self._idle_since >= LAST_ANSWERS_S:
            # granian would wait for clients that neither send nor read.
            raise SystemExit(0)


def _cut_off() -> HttpAnswer:
    answer = HttpAnswer()
    answer.status = 400
    answer.headers = [("content-type", "text/plain"), CLOSE]
    answer.body = b"The body ended before its end, or has trailers, which are not read."
    return answer


def _is_livez(environ: Environ) -> bool:
    """Whether this is a liveness probe, which never waits."""
    is_read = environ["REQUEST_METHOD"] in ("GET", "HEAD")
    return is_read and environ["PATH_INFO"] in _LIVE
