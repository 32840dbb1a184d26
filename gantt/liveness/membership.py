"""An agent's membership in the group: kept by heartbeats, and left at its end.

An agent loads this, so that nothing of a scheduler may be imported here.
"""

from __future__ import annotations

import logging

from gantt.errors import Unavailable
from gantt.liveness.group import HOST, Group
from gantt.liveness.options import CoordinationOptions
from gantt.liveness.repeating_thread import RepeatingThread

LOG = logging.getLogger(__name__)


class Membership:
    """A thread that keeps a host a member until it is closed."""

    def __init__(self, options: CoordinationOptions, host: str) -> None:
        """Raises Refused."""
        self._group = Group(options, HOST + host)
        self._thread = RepeatingThread(self._beat, options.pause_s, "gantt-membership")
        self.failures = 0

    def start(self) -> None:
        """Join as soon as the service answers."""
        self._thread.start()

    def close(self) -> None:
        """Leave the group: the host is down."""
        if self._thread.close():
            self._group.leave()

    def _beat(self) -> None:
        try:
            self._group.beat()
        except Unavailable as error:
            self.failures += 1
            if self.failures == 1:
                LOG.warning("No heartbeat: %s", error)
            return
        if self.failures:
            LOG.info("Heartbeats are accepted again.")
        self.failures = 0
