"""What a serving process does once a second, in a thread of its own.

It publishes its counts, since any process may be asked for metrics, and applies a
changed configuration.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from multiprocessing.util import Finalize

from gantt.api.hosting.run_directory import RunDirectory
from gantt.conf import Mutable
from gantt.engine.engine_protocol import Engine
from gantt.errors import GanttError
from gantt.observe.logs import set_debug
from gantt.observe.metrics import Meters

LOG = logging.getLogger(__name__)
PERIOD_S = 1.0


class Upkeep:
    """Runs until the process ends. ``run`` None: the configuration is fixed."""

    def __init__(
        self, meters: Meters, gantt: Engine, run: RunDirectory | None = None
    ) -> None:
        self._meters = meters
        self._gantt = gantt
        self._directory = run
        self._change = 0
        self._stop = threading.Event()
        # Threads do not survive a fork: each process starts its own.
        self._thread = threading.Thread(
            target=self._run, name="gantt-upkeep", daemon=True
        )
        self._thread.start()
        # The counts since the last turn would be lost. (Workers do not run atexit; the
        # engine is closed later, at priority 10.)
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
                LOG.exception("Upkeep failed")

    def _mirror(self) -> None:
        with suppress(GanttError, OSError):
            self._meters.mirror()

    def turn(self) -> None:
        """Publish counts, and apply the configuration if it has changed."""
        self._meters.mirror()
        changed = self._directory and self._directory.changed(self._change)
        if changed:
            self._change, settings = changed
            apply_mutable(settings, self._gantt)


def apply_mutable(settings: Mutable, gantt: Engine) -> None:
    """Apply the settings that may change while a process runs. Files of tokens and
    policy are watched separately. Raises Refused."""
    gantt.retune(settings.engine)
    set_debug(settings.debug)
    LOG.info("Reloaded the configuration (process %d)", os.getpid())
