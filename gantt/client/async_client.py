"""The library for callers that ``await``: the same methods, over HTTP or in process.

Nothing is written twice: every method is that of the protocol, which has one for each
operation of the table, and runs in one of a few threads. So the requests, the sockets
that are kept, and the refusals are those of the client without ``await``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from gantt.client.scheduler import SchedulerClient
from gantt.errors import Invalid
from gantt.model.protocol import GanttProtocol

_MOST_CONNECTIONS: Final = 32
_NOT_AWAITED: Final = frozenset({"close", "url", "watch"})
"""``watch`` has no end: ``events`` asks for the next ones."""


class AsyncSchedulerClient:
    """Every method of the library but ``watch``, and ``select_destinations``, to
    ``await``: ``await client.place(Item("web", cpu=2))``.

    ``place``: a URL as of ``gantt.connect``, or a Gantt, which stays the caller's. A
    database is read when this is made, so make it before the event loop runs.
    ``connections``: so many calls run at once, in a thread and over a connection each;
    others wait in their order. Who stops waiting for a call does not undo it: ask again
    under the name of its plan.
    """

    def __init__(
        self,
        place: str | GanttProtocol,
        *,
        token: str | None = None,
        create: bool = False,
        connections: int = 8,
    ) -> None:
        if not 1 <= connections <= _MOST_CONNECTIONS:
            raise Invalid(
                f"{connections} connections were asked for; a client has 1 to "
                f"{_MOST_CONNECTIONS}."
            )
        self._client = SchedulerClient(place, token=token, create=create)
        self.books = cast(GanttProtocol, self._client.gantt)
        self._threads = ThreadPoolExecutor(connections, "gantt-client")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]: ...

    async def select_destinations(self, *args: Any, **kwargs: Any) -> Any:
        """See SchedulerClient."""
        return await self._run(self._client.select_destinations, args, kwargs)

    async def close(self) -> None:
        """Wait for calls that run, and close what was opened here."""
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(
        self, method: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        call = partial(copy_context().run, method, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _awaited(name: str) -> Callable[..., Awaitable[Any]]:
    @wraps(getattr(GanttProtocol, name))
    async def call(self: AsyncSchedulerClient, /, *args: Any, **kwargs: Any) -> Any:
        return await self._run(getattr(self.books, name), args, kwargs)

    return call


for _name in dir(GanttProtocol):
    if not _name.startswith("_") and _name not in _NOT_AWAITED:
        setattr(AsyncSchedulerClient, _name, _awaited(_name))
