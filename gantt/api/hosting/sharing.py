"""One answer for all that ask the same: health checks and metrics, which need no token.

An answer is never older than its question, and is made at most once in ``PAUSE_S``:
requests that come while one is made share the next. However many ask, they cost one
thread a small part of its time, and none of them is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from time import monotonic

from gantt.api.hosting.answering import Answer
from gantt.api.hosting.pool import Pool, PoolLimits

LOG = logging.getLogger(__name__)

PAUSE_S = 0.1

Make = Callable[[], Answer]


class Shared:
    """Called in the event loop; the answers are made in a thread of its own."""

    def __init__(self, name: str, clock: Callable[[], float] = monotonic) -> None:
        self._name = name
        self._clock = clock
        self._pool = Pool(name, PoolLimits(threads=1, waiting=1))
        self._asked: list[asyncio.Future[Answer]] = []
        self._is_idle = True
        self._next_at = 0.0

    async def answer(self, make: Make) -> Answer:
        """What ``make``, or that of another request for the same, returns."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append(answered)
        if self._is_idle:
            self._is_idle = False
            self._schedule(make)
        return await answered

    def _schedule(self, make: Make) -> None:
        wait_s = max(0.0, self._next_at - self._clock())
        asyncio.get_running_loop().call_later(wait_s, self._begin, make)

    def _begin(self, make: Make) -> None:
        self._next_at = self._clock() + PAUSE_S
        asked, self._asked = self._asked, []
        loop = asyncio.get_running_loop()
        self._pool.take(partial(self._make, loop, make, asked))

    def _make(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Make,
        asked: list[asyncio.Future[Answer]],
    ) -> None:
        """In the thread."""
        try:
            answer = make()
        except BaseException:
            LOG.exception("%s: no answer could be made", self._name)
            answer = Answer()
        loop.call_soon_threadsafe(self._give, make, asked, answer)

    def _give(
        self, make: Make, asked: list[asyncio.Future[Answer]], answer: Answer
    ) -> None:
        for answered in asked:
            if not answered.done():  # else: granian has given it up
                answered.set_result(answer)
        self._is_idle = not self._asked
        if self._asked:
            self._schedule(make)
