"""One worker process of ``gantt scheduler``: engine, feed, server, until SIGTERM.

Each worker opens its own engine: threads and connections do not survive a fork. The
first one of a host also does what a host does once (``is_first``).
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
from typing import Final

from gantt.conf import Settings, Source, placement_session
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.errors import GanttError
from gantt.observe.logs import configure_logging, flush_logs, set_debug

LOG = logging.getLogger(__name__)

_PR_SET_PDEATHSIG: Final = 1
_SIGNALS: Final = {signal.SIGTERM, signal.SIGHUP}


def run_worker(source: Source, number: int) -> None:
    """Serve until SIGTERM, then drain and end the process. ``number``: 0 is the first
    worker of this host."""
    # Signals are taken by ``sigwait`` below: no handler runs in the middle of a turn.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent sends SIGTERM
    _end_with_parent()
    _without_eventlet()
    status = 1
    try:
        settings = source.load()
        configure_logging(debug=settings.log.debug, use_json=settings.log.use_json)
        _serve(source, settings, is_first=number == 0)
        status = 0
    except GanttError as error:
        LOG.error("%s", error)
    except Exception:
        LOG.exception("Worker %d failed", number)
    flush_logs()
    # Threads of the RPC library that wait for a caller would keep the process.
    os._exit(status)


def _serve(source: Source, settings: Settings, *, is_first: bool) -> None:
    from gantt.openstack.rpc.server import RpcServer

    del is_first
    session = placement_session(settings)
    with open_gantt(settings.database_url, settings.engine, session=session) as gantt:
        server = RpcServer(gantt, settings.oslo, settings.rpc.host, _reread_nothing)
        server.start()
        LOG.info("Serving as scheduler %s (process %d)", settings.rpc.host, os.getpid())
        while signal.sigwait(_SIGNALS) != signal.SIGTERM:
            _reload(source, gantt)
        LOG.info("Draining (process %d)", os.getpid())
        server.drain()


def _reread_nothing(host: str) -> None:
    """There is no feed that could."""
    LOG.debug("Instances of %s are not as reported", host)


def _reload(source: Source, gantt: Gantt) -> None:
    """Apply what may change while this runs; keep the old options if the new ones
    cannot be used."""
    try:
        settings = source.load().mutable
        gantt.retune(settings.engine)
        set_debug(settings.debug)
    except GanttError as error:
        LOG.error("SIGHUP: configuration unchanged. %s", error)
    else:
        LOG.info("SIGHUP: reloaded the configuration (process %d)", os.getpid())


def _end_with_parent() -> None:
    """Have the kernel ask this worker to drain when its parent dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _without_eventlet() -> None:
    """Have the RPC library use threads, and find no eventlet (Nova's own processes do
    the same)."""
    sys.modules["eventlet"] = None  # type: ignore[assignment]
    from oslo_service import backend

    backend.init_backend(backend.BackendType.THREADING)
