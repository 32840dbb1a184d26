"""``gantt scheduler``: starts worker processes, replaces those that die, ends them.

Separate from the worker because this process only watches: it loads neither the RPC
library nor an engine.
"""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Final

from msgspec import Struct

from gantt.conf import ConfigSource, Settings, check_guests, neutron_session
from gantt.engine.factory import check_options
from gantt.errors import Refused
from gantt.observe.endpoint import answering
from gantt.observe.log_file import begin_logging
from gantt.observe.metrics import FOLDER, exposition
from gantt.observe.milestones import log_stopping
from gantt.observe.run_folder import place
from gantt.observe.signal_pipe import SignalPipe
from gantt.observe.supervisor import Supervisor
from gantt.observe.tracing import check_tracing
from gantt.openstack.rpc import vital_signs
from gantt.openstack.rpc.restarts import Restarts
from gantt.openstack.rpc.worker import TAKEN, run_worker
from gantt.store import schema

LOG = logging.getLogger(__name__)

_STOPS: Final = (signal.SIGTERM, signal.SIGINT)
# How often to look whether the workers have started.
_STARTING_S: Final = 0.1


def serve(source: ConfigSource) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Raises Refused before a worker starts;
    SystemExit(1) when no worker can start, or one had to be killed."""
    supervisor = Supervisor.of_process()
    settings = source.load()
    check(settings)
    begin_logging(settings.log, "gantt-scheduler", tells=True)
    for warning in settings.unknown:
        LOG.warning("%s", warning)
    with _vitals(settings.serve.metrics_listen) as folder:
        workers = Workers(
            source,
            settings.rpc.workers,
            settings.serve.drain_s,
            folder=folder,
            supervisor=supervisor,
        )
        with answering(settings.serve.metrics_listen, workers):
            is_well = workers.run()
    if not is_well:
        raise SystemExit(1)


@contextmanager
def _vitals(listen: str) -> Iterator[Path | None]:
    """A folder for what workers tell, if there is anything to answer."""
    if not listen:
        yield None
        return
    # A folder of this name is removed by the next server if this process is killed.
    prefix = f"gantt-run-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place()) as name:
        os.environ[FOLDER] = name
        try:
            yield Path(name)
        finally:
            del os.environ[FOLDER]


def check(settings: Settings) -> None:
    """Raises Refused when the options or the database cannot be used."""
    url = settings.database_url
    if not url:
        raise Refused(
            "No database for the books is configured: give --database URL, or set "
            "[placement_database] connection."
        )
    if url == "memory://" and settings.rpc.workers > 1:
        raise Refused("memory:// supports only one process: set workers to 1.")
    check_options(settings.engine)
    check_guests()
    check_tracing(settings.tracing)
    neutron_session(settings)
    if url == "memory://":
        return
    store = settings.engine.store
    if store.create:
        schema.sync(url, store, spares_newer=True)
    schema.check(url, store)


class _Worker(Struct, frozen=True):
    """``began``: monotonic seconds; ``served``: set once its start has succeeded."""

    process: BaseProcess
    began: float
    served: ctypes.c_bool


class Workers:
    """``count`` processes; ``drain_s``: how long they may take to end; ``folder``:
    where they tell how they are; ``supervisor`` is told once all serve."""

    def __init__(
        self,
        source: ConfigSource,
        count: int,
        drain_s: float,
        *,
        folder: Path | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self._supervisor = supervisor or Supervisor()
        self._has_served = False
        self._source = source
        self._folder = folder
        self._is_draining = False
        self._drain_s = drain_s
        self._context = multiprocessing.get_context("spawn")
        self._running: dict[int, _Worker] = {}
        self._restarts = Restarts(count)
        self._count = count

    def run(self) -> bool:
        """Until a signal to stop; whether all ended well."""
        with closing(SignalPipe((*_STOPS, signal.SIGHUP))) as signals:
            for number in range(self._count):
                self._start(number)
            is_well = self._watch(signals)
            return self._end() and is_well

    def metrics(self) -> bytes:
        """The metrics of all workers together."""
        return b"" if self._folder is None else exposition(self._folder)

    def unready(self) -> str:
        """Why not all serve; "": they do."""
        if self._is_draining:
            return "draining"
        if self._folder is None:
            return ""
        return vital_signs.unready(self._folder, self._count)

    def notice(self) -> str:
        """What operators should know although all are ready; "": nothing."""
        folder = self._folder
        return "" if folder is None else vital_signs.notice(folder, self._count)

    def _start(self, number: int) -> None:
        # Without a lock, which a worker that is killed could keep.
        served = RawValue(ctypes.c_bool, False)
        process = self._context.Process(
            target=run_worker,
            args=(self._source, number, served, self._folder),
            name=f"scheduler-{number}",
        )
        # A worker inherits that these wait: until it takes them they would end it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._running[number] = _Worker(process, time.monotonic(), served)

    def _watch(self, signals: SignalPipe) -> bool:
        """Until a signal to stop, or until no worker can start: then False."""
        while True:
            sentinels = [one.process.sentinel for one in self._running.values()]
            pause = self._pause()
            if signals.heard in wait([signals.heard, *sentinels], pause):
                got = signals.read()
                if got in _STOPS:
                    self._is_draining = True
                    self._supervisor.stopping()
                    log_stopping(got)
                    return True
                with self._supervisor.reloading():
                    self._send(signal.Signals(got))
            for number, worker in list(self._running.items()):
                if not worker.process.is_alive():
                    self._note_end(number, worker)
            if self._restarts.are_futile:
                return False
            for number in self._restarts.take_due(time.monotonic()):
                self._start(number)

    def _pause(self) -> float | None:
        """Seconds until there is something to do besides; None: nothing is awaited."""
        due = self._restarts.next_s(time.monotonic())
        running = self._running.values()
        if not self._has_served:
            are_serving = all(worker.served.value for worker in running)
            self._has_served = len(running) == self._count and are_serving
            if not self._has_served:
                return _STARTING_S if due is None else min(due, _STARTING_S)
            self._supervisor.ready()
        return due

    def _note_end(self, number: int, worker: _Worker) -> None:
        del self._running[number]
        if self._folder is not None:
            vital_signs.file_of(self._folder, number).unlink(missing_ok=True)
        self._restarts.ended(
            number,
            time.monotonic(),
            status=worker.process.exitcode,
            began=worker.began,
            served=worker.served.value,
        )

    def _send(self, number: signal.Signals) -> None:
        for worker in self._running.values():
            if worker.process.pid is not None and worker.process.is_alive():
                os.kill(worker.process.pid, number)

    def _end(self) -> bool:
        """Ask all to drain, and kill those that take too long: whether none did."""
        self._send(signal.SIGTERM)
        deadline = time.monotonic() + self._drain_s
        is_well = True
        for number, worker in self._running.items():
            process = worker.process
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                LOG.error("Worker %d did not drain in %g s", number, self._drain_s)
                process.kill()
                process.join()
                is_well = False
        return is_well
