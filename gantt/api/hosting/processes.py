"""granian's parent process, with what Gantt adds to signals and workers.

Apart from ``server`` because importing this imports granian, which no other WSGI
server needs.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from typing import Any

from granian.server.mp import MPServer

from gantt.api.hosting.running import RunDirectory
from gantt.conf import Settings
from gantt.errors import GanttError

LOG = logging.getLogger(__name__)


class Processes(MPServer):
    """SIGTERM: not ready, then drain. SIGHUP: ``reread`` the configuration, and have
    the workers go on with it. A worker that dies is replaced; one that dies again
    right after that ends the service."""

    def __init__(
        self,
        *args: Any,
        run: RunDirectory,
        reread: Callable[[], Settings],
        delay_s: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._run = run
        self._reread = reread
        self._delay_s = delay_s
        self._is_told = False
        # Whether a SIGHUP came that nothing was done about, and whether one is at work.
        self._must_reread = self._is_rereading = False

    def signal_handler_interrupt(self, *args: Any, **_kwargs: Any) -> None:
        """The first SIGTERM waits for load balancers; any further one does not."""
        is_patient = args[:1] == (signal.SIGTERM,) and self._delay_s > 0
        is_first, self._is_told = not self._is_told, True
        self._run.drain()
        if is_patient and is_first:
            LOG.info("No longer ready; draining in %g s", self._delay_s)
            stop = super().signal_handler_interrupt
            timer = threading.Timer(self._delay_s, stop)
            timer.daemon = True
            timer.start()
        else:
            super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *_args: Any, **_kwargs: Any) -> None:
        """One at a time: the next may come in the middle of this, and what was read
        before it must not win."""
        self._must_reread = True
        if self._is_rereading:
            return
        self._is_rereading = True
        while self._must_reread:
            self._must_reread = False
            self._change()
        self._is_rereading = False

    def _change(self) -> None:
        """Workers go on with what they have when it cannot be used: all of them, and
        those that replace them."""
        try:
            self._run.change(self._reread().mutable)
        except GanttError as error:
            LOG.error("SIGHUP: configuration unchanged. %s", error)
        except Exception:
            # It would end the service: this runs in the middle of the parent's wait.
            LOG.exception("SIGHUP: configuration unchanged")
        else:
            LOG.info("SIGHUP: reloaded the configuration")

    def _spawn_worker(self, *args: Any, **kwargs: Any) -> Any:
        """A worker whose streams end before it is asked to stop: it waits for them."""
        worker: Any = super()._spawn_worker(*args, **kwargs)
        stop = worker.terminate

        def terminate() -> None:
            self._run.drain(worker.inner.pid)
            stop()

        worker.terminate = terminate
        return worker
