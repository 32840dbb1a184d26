"""A connection of psycopg that does not wait for ever, while it is told so.

Apart from the dialect because it needs the driver, which is loaded for PostgreSQL only.
A server that stands still goes on acknowledging what TCP asks it, so that probes find
nothing wrong with it.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

from psycopg import Connection, OperationalError

T = TypeVar("T")


class Silence(OperationalError):
    """The server has said nothing for too long; the connection is of no more use."""


class BoundedConnection(Connection[Any]):
    """``silence_s``: how long a statement waits for its answer; None: for ever."""

    silence_s: float | None = None

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        """As the driver's own. Raises Silence, after which it is closed."""
        if self.silence_s is None:
            return super().wait(gen, *args, **more)
        try:
            return super().wait(_bounded(gen, self.silence_s), *args, **more)
        except Silence:
            self.close()
            raise


def _bounded(steps: Generator[Any, Any, T], silence_s: float) -> Generator[Any, Any, T]:
    """The driver's steps; it comes back every tenth of a second, with nothing (0)."""
    deadline = time.monotonic() + silence_s
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise Silence(f"the server has said nothing for {silence_s:g} s")
            wanted = steps.send(ready)
    except StopIteration as end:
        found: T = end.value
        return found
