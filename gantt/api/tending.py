"""What a serving process does beside answering: once a second, in a thread.

It hands its counts on, for whichever process is asked for metrics, and reads again
what may change while it runs, when the server says so.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from gantt.api.running import RunDirectory
from gantt.conf import Settings, Source
from gantt.errors import GanttError
from gantt.observe.logs import set_debug
from gantt.observe.metrics import Meters

LOG = logging.getLogger(__name__)
PERIOD_S = 1.0


class Tender:
    """Runs until the process ends. ``source`` and ``run`` None: nobody says so.

    ``read_at``: what ``run`` said before the configuration in force was read.
    """

    def __init__(
        self,
        meters: Meters,
        gantt: Any,
        source: Source | None = None,
        run: RunDirectory | None = None,
        read_at: int = 0,
    ) -> None:
        self._meters = meters
        self._gantt = gantt
        self._source = source
        self._directory = run
        self._read_at = read_at
        self._stop = threading.Event()
        # Threads do not survive a fork: a process begins its own.
        self._thread = threading.Thread(
            target=self._run, name="gantt-tender", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD_S):
            try:
                self.turn()
            except GanttError as error:
                LOG.warning("%s", error)
            except Exception:
                LOG.exception("what is done once a second failed")

    def turn(self) -> None:
        """Once."""
        self._meters.mirror()
        if self._directory is None or self._source is None:
            return
        said_at = self._directory.reread_at()
        if said_at > self._read_at:
            self._read_at = said_at
            apply_mutable(self._source.load(), self._gantt)


def apply_mutable(settings: Settings, gantt: Any) -> None:
    """Take over what may change while a process runs: [DEFAULT] debug, how fresh reads
    are, and all of the scheduler but whose books it asks. Tokens and policy are read
    again by themselves. Raises Refused."""
    set_debug(settings.log.debug)
    gantt.retune(settings.engine)
    LOG.info("read the configuration again (process %d)", os.getpid())
