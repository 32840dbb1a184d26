"""Watching a service: page by page, so that it works through every transport.

Apart from scheduling because a watch goes on: what is kept between two questions is
the place where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.client import decode, encode
from gantt.client.scheduling import RemoteScheduling
from gantt.model.watching import Event, Events

# Well below what clients and proxies take for a lost connection.
WAIT_S = 20.0


class RemoteWatching(RemoteScheduling):
    """The part of GanttProtocol that tells what changes."""

    def events(self, since: str | int | None = None, *, wait_s: float = 0.0) -> Events:
        """See GanttProtocol. The service may answer sooner than ``wait_s``."""
        place = None if since is None else str(since)
        pairs = [*encode.given({"since": place}), ("wait", f"{wait_s:g}")]
        return decode.events(self._ask_ours("GET", "watch", pairs=pairs))

    def watch(self, since: str | int | None = None) -> Iterator[Event]:
        """See GanttProtocol."""
        place = since
        while True:
            found = self.events(place, wait_s=WAIT_S)
            yield from found.events
            place = found.cursor
