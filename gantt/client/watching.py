"""Watching a service: page by page, so that it works over every transport.

Separate from scheduling because a watch is continuous: only its position is kept
between two requests. The usage history is requested here too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gantt.client import decode, encode
from gantt.client.scheduling import RemoteScheduling
from gantt.model.usage_history import UsageRecord
from gantt.model.watching import Event, Events

# Well below what clients and proxies take for a lost connection.
WAIT_S = 20.0


class RemoteWatching(RemoteScheduling):
    """The part of GanttProtocol for changes and the usage history."""

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

    def usage_history(
        self,
        resource_class: str | None = None,
        *,
        since: int | None = None,
        until: int | None = None,
        period: str = "hour",
        limit: int = 1000,
    ) -> tuple[UsageRecord, ...]:
        """See GanttProtocol."""
        asked = {"resource_class": resource_class, "since": since, "until": until}
        pairs = encode.given({**asked, "period": period, "limit": limit})
        return decode.usage_history(self._ask_ours("GET", "usage-history", pairs=pairs))
