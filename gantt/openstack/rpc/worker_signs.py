"""The counts of one worker of ``gantt scheduler``, and whether it is ready.

Of its engine and its messages, and in the first worker of the feed and of the row in
``services``.
"""

from __future__ import annotations

from pathlib import Path

from gantt.engine.gantt import Gantt
from gantt.observe.metrics import Meters
from gantt.observe.tracing import Tracing, observed
from gantt.openstack.feed import Feed
from gantt.openstack.meters import CloudMeters, feed_counts
from gantt.openstack.presence import Presence
from gantt.openstack.rpc.rpc_server import RpcServer
from gantt.openstack.rpc.vital_signs import VitalSigns


class WorkerSigns:
    """``feed``, ``presence``: None where another worker has them; ``threads``: messages
    that are answered at the same time, at most; ``traces``: None: there are none."""

    def __init__(
        self,
        gantt: Gantt,
        server: RpcServer,
        feed: Feed | None,
        presence: Presence | None,
        threads: int,
        traces: Tracing | None,
    ) -> None:
        self._gantt = gantt
        self._server = server
        self._feed = feed
        self._presence = presence
        self._threads = threads
        self._engine = Meters(lambda: {**gantt.counts(), **gantt.keeping_up()})
        self._cloud = CloudMeters(self.counts, feeds=feed is not None)
        gantt.observe(observed(self._engine, traces))
        server.methods.observer = self._cloud

    def tell(self, folder: Path, number: int) -> VitalSigns:
        """Tell it from now on, as worker ``number``."""
        return VitalSigns(folder, number, self.mirror, self.unready, self.notice)

    def mirror(self) -> None:
        """Publish the counts. Raises StoreFailed."""
        self._cloud.mirror()
        self._engine.mirror()

    def unready(self) -> str:
        """Why this worker is not ready; "": it is."""
        feed = "" if self._feed is None else self._feed.unready()
        return feed or self._server.unready() or self._gantt.unready()

    def notice(self) -> str:
        """What operators should know although it is ready; "": nothing."""
        feed = "" if self._feed is None else self._feed.notice()
        return "; ".join(one for one in (self._gantt.notice(), feed) if one)

    def counts(self) -> dict[str, float]:
        """By the names of ``meters``."""
        methods = self._server.methods
        return {
            **methods.counts(),
            **self._server.late.counts(),
            "rpc_in_flight": methods.in_flight,
            "rpc_in_flight_limit": self._threads,
            **({} if self._feed is None else feed_counts(self._feed.counts())),
            **({} if self._presence is None else self._presence.counts()),
        }
