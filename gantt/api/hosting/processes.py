"""granian's parent process, and what Gantt adds to its signals and its shutdown.

Separate from ``server`` because this imports granian, which no other WSGI server needs.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from granian.server.mp import MPServer

from gantt.api.hosting.running import RunDirectory
from gantt.conf import Settings
from gantt.errors import GanttError
from gantt.observe.milestones import log_stopping
from gantt.observe.supervisor import Supervisor

LOG = logging.getLogger(__name__)

# How often to look whether the workers have started.
_STARTING_S = 0.05


class Processes(MPServer):
    """SIGTERM: become unready, then drain. SIGHUP: ``reread`` the configuration for all
    workers. A worker that dies is replaced; one that dies again right after that ends
    the service. ``supervisor`` is told once all workers serve, and of both signals."""

    def __init__(
        self,
        *args: Any,
        run: RunDirectory,
        reread: Callable[[], Settings],
        delay_s: float,
        supervisor: Supervisor | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._run = run
        self._reread = reread
        self._delay_s = delay_s
        self._supervisor = supervisor or Supervisor()
        self._is_draining = False
        # How long to wait before all is stopped. The main thread, which signals
        # interrupt anywhere, may hold the lock of what it waits for, so that a handler
        # must not take it; it may put into such a queue.
        self._stops: SimpleQueue[float] = SimpleQueue()
        # Whether a SIGHUP is pending, and whether one is being handled.
        self._must_reread = self._is_rereading = False
        self.on_startup(self._watch)

    def _watch(self) -> None:
        """Beside the loop that starts and replaces workers."""
        for name, act in (
            ("gantt-readiness", self._await_workers),
            ("gantt-stop", self._await_stop),
        ):
            threading.Thread(target=act, name=name, daemon=True).start()

    def _await_workers(self) -> None:
        pause = threading.Event()
        while not self._are_serving():
            if self._is_draining or pause.wait(_STARTING_S):
                return
        self._supervisor.ready()

    def _await_stop(self) -> None:
        delay_s = self._stops.get()
        with suppress(Empty):
            self._stops.get(timeout=delay_s)  # a further signal
        super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def _are_serving(self) -> bool:
        # One that is being replaced is missing for a moment.
        workers = list(self.wrks)
        return len(workers) == self.workers and all(
            self._run.is_serving(worker.inner.pid) for worker in workers
        )

    def signal_handler_interrupt(self, *args: Any, **_kwargs: Any) -> None:
        """The first SIGTERM waits for load balancers; any further one does not."""
        must_wait = args[:1] == (signal.SIGTERM,) and self._delay_s > 0
        is_first, self._is_draining = not self._is_draining, True
        self._run.drain()
        self._supervisor.stopping()
        if is_first and args:
            log_stopping(args[0], self._delay_s if must_wait else 0)
        self._stops.put(self._delay_s if must_wait and is_first else 0)

    def shutdown(self, exit_code: int = 0) -> None:
        """Have the workers end their streams, for which they would wait, and stop."""
        self._run.stop()
        super().shutdown(exit_code)  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *_args: Any, **_kwargs: Any) -> None:
        """One at a time: the next may interrupt this one, and the older configuration
        must not win."""
        self._must_reread = True
        if self._is_rereading:
            return
        self._is_rereading = True
        while self._must_reread:
            self._must_reread = False
            with self._supervisor.reloading():
                self._reload_configuration()
        self._is_rereading = False

    def _reload_configuration(self) -> None:
        """All workers, and those that replace them, keep the old configuration if the
        new one cannot be used."""
        try:
            self._run.change(self._reread().mutable)
        except GanttError as error:
            LOG.error("SIGHUP: configuration unchanged. %s", error)
        except Exception:
            # Raised in a signal handler, it would end the service.
            LOG.exception("SIGHUP: configuration unchanged")
        else:
            LOG.info("SIGHUP: reloaded the configuration")
