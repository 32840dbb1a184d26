"""What was read goes to Gantt one statement at a time.

All threads of a feed pass on here. One of them at a time, so that a statement of all
that there is never misses what another is about to add.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from gantt.errors import NotFound
from gantt.model.fleet import FleetStatement
from gantt.model.protocol import GanttProtocol

LOG = logging.getLogger(__name__)
# Refusals of one statement that are logged one by one.
MOST_LOGGED: Final = 20


class FeedDelivery:
    """``turn``: held by the thread that passes something on, and for as long as what
    it knows must not change. ``statements``, ``refused``: how many so far;
    ``is_failing``: whether the last statement could not be passed on."""

    def __init__(self, gantt: GanttProtocol) -> None:
        self.gantt = gantt
        self.turn = threading.RLock()
        self.statements = 0
        self.refused = 0
        self.is_failing = False

    def state(self, statement: FleetStatement) -> None:
        """Pass on a statement; what of it is refused is logged and left out. Raises
        Unavailable."""
        with self.turn:
            try:
                refused = self.gantt.set_fleet(statement)
            except BaseException:
                self.is_failing = True
                raise
            self.is_failing = False
            self.statements += 1
            self.refused += len(refused)
        for one in refused[:MOST_LOGGED]:
            LOG.warning("refused: %s: %s", one.what, one.why)
        if len(refused) > MOST_LOGGED:
            LOG.warning("refused: %d more", len(refused) - MOST_LOGGED)

    def delete_host(self, host: str, node: str) -> None:
        """Delete a host that may be gone already. Raises Unavailable."""
        try:
            self.gantt.delete_host(host, node)
        except NotFound:
            LOG.info("host %s, node %s was deleted already", host, node)
