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
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gantt.conf import (
    ConfigSource,
    Settings,
    feed_options,
    has_nova_databases,
    neutron_session,
    placement_session,
)
from gantt.connection import open_gantt
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import GanttError
from gantt.liveness.watcher_setup import watching
from gantt.observe.load_progress import LoadingLog
from gantt.observe.log_file import begin_logging
from gantt.observe.logs import flush_logs, set_debug
from gantt.observe.milestones import serving
from gantt.observe.tracing import Tracing, tracing
from gantt.stream.service_streams import publishing, taking_in

if TYPE_CHECKING:
    # Loads the RPC library, before which eventlet must be out of its sight.
    from gantt.openstack.presence import Presence
    from gantt.openstack.routed_networks import RoutedNetworks
    from gantt.openstack.rpc.methods import FactSource as Facts

LOG = logging.getLogger(__name__)

_PR_SET_PDEATHSIG: Final = 1
TAKEN: Final = {signal.SIGTERM, signal.SIGHUP}


def run_worker(
    source: ConfigSource, number: int, served: ctypes.c_bool, folder: Path | None = None
) -> None:
    """Serve until SIGTERM, then drain and end the process. ``number``: 0 is the first
    worker of this host; ``served``: its shared ``value`` is set to true once it serves;
    ``folder``: where it tells how it is."""
    # Signals are taken by ``sigwait`` below: no handler runs in the middle of a turn.
    signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the parent sends SIGTERM
    _end_with_parent()
    _without_eventlet()
    status = 1
    try:
        settings = source.load()
        begin_logging(settings.log, "gantt-scheduler")
        _serve(source, settings, number, served, folder)
        status = 0
    except GanttError as error:
        LOG.error("%s", error)
    except Exception:
        LOG.exception("Worker %d failed", number)
    flush_logs()
    # Threads of the RPC library that wait for a caller would keep the process.
    os._exit(status)


def _serve(
    source: ConfigSource,
    settings: Settings,
    number: int,
    served: ctypes.c_bool,
    folder: Path | None,
) -> None:
    from gantt.openstack.feed import Feed
    from gantt.openstack.routed_networks import RoutedNetworks
    from gantt.openstack.rpc.rpc_server import RpcServer
    from gantt.openstack.rpc.scheduler_notifications import Notifications
    from gantt.openstack.rpc.worker_signs import WorkerSigns

    options, is_first, began = settings.rpc, number == 0, time.monotonic()
    with ExitStack() as stack:
        traces = tracing(settings.tracing, "gantt-scheduler")
        if traces is not None:
            stack.callback(traces.close)
        gantt = _open(settings, traces)
        stack.callback(gantt.close)
        stack.enter_context(watching(settings.coordination, gantt))
        stack.enter_context(taking_in(settings.stream, gantt))
        stack.enter_context(publishing(settings.stream, gantt))
        facts = _facts(settings, gantt, stack) if is_first else None
        notifications = Notifications(settings.oslo, options)
        stack.callback(notifications.close)
        announce = notifications if notifications.are_sent else None
        server = RpcServer(gantt, settings.oslo, options.host, facts, announce)
        threads = settings.oslo.executor_thread_pool_size
        server.methods.traces = traces
        server.methods.networks = networks = RoutedNetworks(options, threads)
        stack.callback(networks.close)
        networks.ask(neutron_session(settings))
        server.start()
        presence = None
        if is_first and has_nova_databases(settings.oslo):
            presence = _appear(settings, stack)
        if folder is not None:
            feed = facts if isinstance(facts, Feed) else None
            signs = WorkerSigns(gantt, server, feed, presence, threads, traces)
            stack.callback(signs.tell(folder, number).close)
        elif traces is not None:
            gantt.observe(traces)
        served.value = True
        name, took_s = {"host": options.host}, time.monotonic() - began
        serving("Serving as scheduler %s", name, gantt, took_s)()
        while signal.sigwait(TAKEN) != signal.SIGTERM:
            _reload(source, gantt, networks)
        LOG.info("Draining (process %d)", os.getpid())
        server.drain()
        counts = server.methods.counts().items()
        LOG.info(
            "Drained (process %d): %s",
            os.getpid(),
            ", ".join(f"{name} {number:g}" for name, number in sorted(counts)),
        )


def _open(settings: Settings, traces: Tracing | None) -> Gantt:
    """Raises Refused, StoreFailed."""
    return open_gantt(
        settings.database_url,
        engine_options(settings),
        session=placement_session(settings),
        propagate=dict if traces is None else traces.headers,
        progress=LoadingLog(),
    )


def engine_options(settings: Settings) -> EngineOptions:
    """Nova's API has judged what requests name. Where Nova's computes are the source of
    facts, they write the books themselves, and a host is one that has a service."""
    engine = settings.engine
    scheduler = replace(engine.scheduler, names_are_checked=True)
    if has_nova_databases(settings.oslo):
        scheduler = replace(scheduler, reports_write_books=False, requires_service=True)
    return replace(engine, scheduler=scheduler)


def _facts(settings: Settings, gantt: Gantt, stack: ExitStack) -> Facts:
    """What the first worker of a host does for all: the feed, and casts."""
    from gantt.openstack.feed import Feed
    from gantt.openstack.rpc.methods import NoSource

    if not has_nova_databases(settings.oslo):
        LOG.warning(
            "[api_database] has no connection: hosts are not read from Nova's "
            "databases; run 'gantt feed', or report them otherwise"
        )
        return NoSource()
    feed = Feed(feed_options(settings.files, settings.engine.scheduler), gantt)
    stack.callback(feed.stop)
    feed.start()
    return feed


def _appear(settings: Settings, stack: ExitStack) -> Presence | None:
    """Have a row among Nova's services, if a user may write it."""
    if not settings.rpc.write_user:
        LOG.warning(
            "[nova] write_user is not set: this scheduler is not in the list of "
            "compute services, and does not map new hosts to their cells"
        )
        return None
    from gantt.openstack.presence import Presence

    feed = feed_options(settings.files, settings.engine.scheduler)
    presence = Presence(settings.rpc, feed)
    stack.callback(presence.stop)
    presence.start()
    return presence


def _reload(source: ConfigSource, gantt: Gantt, networks: RoutedNetworks) -> None:
    """Apply what may change while this runs; keep the old options if the new ones
    cannot be used. Which cells there are the feed sees by itself."""
    try:
        settings = source.load()
        session = neutron_session(settings)
        if session is not None:  # before the first decision that needs it
            networks.ask(session)
        gantt.retune(engine_options(settings))
        networks.ask(session)
        set_debug(settings.log.debug)
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
