"""granian's parent process, and what Gantt adds to its signals and its shutdown.

Separate from ``server`` because this imports granian, which no other WSGI server needs.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from granian.server.mp import MPServer

from gantt.api.hosting.run_directory import RunDirectory
from gantt.conf import Settings
from gantt.errors import GanttError
from gantt.observe.milestones import log_stopping
from gantt.observe.signal_pipe import SignalPipe
from gantt.observe.supervisor import Supervisor

LOG = logging.getLogger(__name__)

# How often to look whether the workers have started.
_STARTING_S = 0.05
_STOPS = (signal.SIGTERM, signal.SIGINT)
_AGAIN_S = 1.0


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
        # What each signal asks a thread to do, so that the next one is heard at once:
        # stop by this signal, if any, after so many seconds; reread.
        self._stops: SimpleQueue[tuple[int | None, float]] = SimpleQueue()
        self._rereads: SimpleQueue[None] = SimpleQueue()
        self.on_startup(self._watch)
        self.on_startup(self._take_signals)

    def _watch(self) -> None:
        """Beside the loop that starts and replaces workers."""
        for name, act in (
            ("gantt-readiness", self._await_workers),
            ("gantt-stop", self._await_stop),
            ("gantt-reload", self._await_rereads),
        ):
            threading.Thread(target=act, name=name, daemon=True).start()

    def _take_signals(self) -> None:
        """In place of granian's handlers, which run in the main thread once that wakes
        up."""
        signals = SignalPipe((*_STOPS, signal.SIGHUP))
        # A worker must not write what it gets to the pipe of its parent.
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
        hear = partial(self._hear, signals)
        threading.Thread(target=hear, name="gantt-signals", daemon=True).start()

    def _hear(self, signals: SignalPipe) -> None:
        while True:
            number = signals.read()
            if number in _STOPS:
                self.signal_handler_interrupt(number)
            elif number == signal.SIGHUP:
                self.signal_handler_reload(number)

    def _await_workers(self) -> None:
        pause = threading.Event()
        while not self._are_serving():
            if self._is_draining or pause.wait(_STARTING_S):
                return
        self._supervisor.ready()

    def _await_stop(self) -> None:
        number, delay_s = self._stops.get()
        try:
            self._supervisor.stopping()
            if number is not None:
                log_stopping(number, delay_s)
            with suppress(Empty):
                self._stops.get(timeout=delay_s)  # a further signal
        finally:
            while True:  # granian forgets it where it replaces a worker just then
                super().signal_handler_interrupt()  # type: ignore[no-untyped-call]
                time.sleep(_AGAIN_S)

    def _await_rereads(self) -> None:
        while True:
            self._rereads.get()
            with suppress(Empty):
                while True:  # one reading is enough for all that came so far
                    self._rereads.get_nowait()
            with self._supervisor.reloading():
                self._reload_configuration()

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
        delay_s = self._delay_s if must_wait and is_first else 0
        self._stops.put((args[0] if args else None, delay_s))

    def shutdown(self, exit_code: int = 0) -> None:
        """Have the workers end their streams, for which they would wait, and stop."""
        self._run.stop()
        super().shutdown(exit_code)  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *_args: Any, **_kwargs: Any) -> None:
        """One after the other: the older configuration must not win."""
        self._rereads.put(None)

    def _reload_configuration(self) -> None:
        """All workers, and those that replace them, keep the old configuration if the
        new one cannot be used."""
        try:
            self._run.change(self._reread().mutable)
        except GanttError as error:
            LOG.error("SIGHUP: configuration unchanged. %s", error)
        except Exception:
            # Else this thread would end, and no further SIGHUP be heeded.
            LOG.exception("SIGHUP: configuration unchanged")
        else:
            LOG.info("SIGHUP: reloaded the configuration")
