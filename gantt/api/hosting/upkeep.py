"""What a serving process does beside answering: once a second, in a thread.

It hands its counts on, for whichever process is asked for metrics, and takes over what
may change while it runs, when the server says so.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from multiprocessing.util import Finalize

from gantt.api.hosting.running import RunDirectory
from gantt.conf import Mutable
from gantt.engine.protocol import Engine
from gantt.errors import GanttError
from gantt.observe.logs import set_debug
from gantt.observe.metrics import Meters

if TYPE_CHECKING:
    from gantt.engine.gantt import Gantt

LOG = logging.getLogger(__name__)
PERIOD_S = 1.0


class Tender:
    """Runs until the process ends. ``run`` None: it is not told of changes."""

    def __init__(
        self, meters: Meters, gantt: Engine, run: RunDirectory | None = None
    ) -> None:
        self._meters = meters
        self._gantt = gantt
        self._directory = run
        self._heard = 0
        self._stop = threading.Event()
        # Threads do not survive a fork: a process begins its own.
        self._thread = threading.Thread(
            target=self._run, name="gantt-tender", daemon=True
        )
        self._thread.start()
        # What was counted since the last turn would go with the process. (Also where
        # atexit is not run; before the engine is closed, which has 10.)
        self._last = Finalize(None, self._mirror, exitpriority=20)

    def close(self) -> None:
        """Stop."""
        self._last.cancel()
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD_S):
            try:
                self.turn()
            except GanttError as error:
                LOG.warning("%s", error)
            except Exception:
                LOG.exception("the task that runs every second failed")

    def _mirror(self) -> None:
        with suppress(GanttError, OSError):
            self._meters.mirror()

    def turn(self) -> None:
        """Once."""
        self._meters.mirror()
        told = self._directory and self._directory.changed(self._heard)
        if told:
            self._heard, settings = told
            apply_mutable(settings, self._gantt)


def apply_mutable(settings: Mutable, gantt: Engine) -> None:
    """Take over what may change while a process runs. Tokens and policy are read again
    by themselves. Raises Refused."""
    gantt.retune(settings.engine)
    set_debug(settings.debug)
    LOG.info("reloaded the configuration (process %d)", os.getpid())
