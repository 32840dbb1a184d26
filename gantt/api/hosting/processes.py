"""granian's parent process, and what Gantt adds to its signals and its shutdown.

Separate from ``server`` because this imports granian, which no other WSGI server needs.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.sharedctypes import RawValue
from typing import Any

from granian.server.mp import MPServer, WorkerProcess

from gantt.api.hosting.running import RunDirectory
from gantt.conf import Settings
from gantt.errors import GanttError
from gantt.observe.restarts import Restarts

LOG = logging.getLogger(__name__)


class Processes(MPServer):
    """SIGTERM: become unready, then drain. SIGHUP: ``reread`` the configuration for all
    workers. A worker that dies is replaced, after a pause if it was young; when none
    can start, the service ends."""

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
        self._is_draining = False
        self._restarts = Restarts(self.workers)
        # By worker: set once its start has succeeded.
        self._served: dict[int, ctypes.c_bool] = {}
        # Whether a SIGHUP is pending, and whether one is being handled.
        self._must_reread = self._is_rereading = False

    def _spawn_worker(  # type: ignore[override]
        self, idx: int, target: Any, callback_loader: Callable[..., Any]
    ) -> WorkerProcess:
        """``callback_loader`` is also given what it sets once it has loaded."""
        # Without a lock, which a worker that is killed could keep.
        served = self._served[idx] = RawValue(ctypes.c_bool, False)
        loader = partial(callback_loader, served)
        return super()._spawn_worker(idx, target, loader)

    def _serve_loop(self, spawn_target: Any, target_loader: Any) -> None:
        """In place of granian's, which ends all workers when one dies again within
        seconds: others may be all that answers while a database is away."""
        while not self.interrupt_signal:
            # Of two signals at once, the kernel can give one to a thread whose
            # interruption does not wake this one.
            pause = self._restarts.next_s(time.monotonic())
            self.main_loop_interrupt.wait(min(1.0, 1.0 if pause is None else pause))
            self.main_loop_interrupt.clear()
            while self.interrupt_children and not self.interrupt_signal:
                self._note_end(self.interrupt_children.pop(0))
            if self._restarts.are_futile:
                return
            due = self._restarts.take_due(time.monotonic())
            if due and not self.interrupt_signal:
                self._respawn_workers(due, spawn_target, target_loader)

    def _note_end(self, number: int) -> None:
        worker = self.wrks[number]
        self._restarts.ended(
            *(number, time.monotonic()),
            status=worker.inner.exitcode,
            began=worker.birth,
            served=self._served[number].value,
        )

    def signal_handler_interrupt(self, *args: Any, **_kwargs: Any) -> None:
        """The first SIGTERM waits for load balancers; any further one does not."""
        must_wait = args[:1] == (signal.SIGTERM,) and self._delay_s > 0
        is_first, self._is_draining = not self._is_draining, True
        self._run.drain()
        if must_wait and is_first:
            LOG.info("No longer ready; draining in %g s", self._delay_s)
            stop = super().signal_handler_interrupt
            timer = threading.Timer(self._delay_s, stop)
            timer.daemon = True
            timer.start()
        else:
            super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def shutdown(self, exit_code: int = 0) -> None:
        """Have the workers end their streams, for which they would wait, and stop."""
        self._run.stop()
        failure = int(self._restarts.are_futile)
        super().shutdown(exit_code or failure)  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *_args: Any, **_kwargs: Any) -> None:
        """One at a time: the next may interrupt this one, and the older configuration
        must not win."""
        self._must_reread = True
        if self._is_rereading:
            return
        self._is_rereading = True
        while self._must_reread:
            self._must_reread = False
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
