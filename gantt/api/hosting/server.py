"""``gantt serve``: the application under granian, in one or more workers.

The engine has threads, which a fork would lose, so each worker builds its own from the
configuration; the parent checks, listens, and replaces workers that die. Workers that
cannot start end the service with exit status 1.
"""

from __future__ import annotations

import ctypes
import gc
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gantt.api.hosting.port_owner import is_taken, port_owner
from gantt.api.hosting.run_directory import Configured, RunDirectory
from gantt.api.middleware import WsgiApp
from gantt.api.watchers import Watchers
from gantt.conf import ConfigSource, ServeOptions, Settings, placement_session
from gantt.engine.engine_protocol import Engine
from gantt.errors import GanttError, Refused
from gantt.liveness.watcher_setup import watching
from gantt.model.addresses import without_secrets
from gantt.observe.load_progress import LoadingLog
from gantt.observe.log_file import begin_logging
from gantt.observe.logs import flush_logs
from gantt.observe.milestones import serving
from gantt.observe.supervisor import Supervisor
from gantt.observe.tracing import Tracing, check_tracing, tracing
from gantt.stream.service_streams import publishing, taking_in

if TYPE_CHECKING:
    from gantt.api.access.confirmed_tokens import ConfirmedTokens
    from gantt.api.hosting.front import Front

    # Decides at import where counters are kept, which serve must set first.
    from gantt.observe.metrics import Meters

LOG = logging.getLogger(__name__)

CONNECTIONS = 16384
_OTHER_FILES = 256
_PR_SET_PDEATHSIG = 1
# New objects until the young ones are looked through, and how often older ones are.
_GARBAGE = (50_000, 20, 20)
# The directory in which prometheus_client aggregates processes.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_GRANIAN_LOGS = {
    "handlers": {},
    "loggers": {"_granian": {"propagate": True}},
}


def serve(source: ConfigSource) -> None:
    """Serve until SIGTERM or SIGINT, then finish requests in progress.

    Raises Refused before anything listens; SystemExit(1) when a worker gives up.
    """
    from granian.constants import HTTPModes, Interfaces, Loops
    from granian.log import LogLevels

    from gantt.api.hosting.worker_processes import Processes

    configured = Configured(source)
    settings = configured.settings
    options = settings.serve
    check_bind(settings)
    check_database(settings)
    check_port(options)
    check_policy(settings)
    check_tracing(settings.tracing)
    begin_logging(settings.log, "gantt", tells=True)
    warn_of_unknown(settings)
    _allow_open_files(CONNECTIONS + _OTHER_FILES)
    run = RunDirectory.begin(options.run_directory)
    os.environ[FOLDER] = str(run.metrics)
    server = Processes(
        "gantt",
        run=run,
        reread=partial(_reread, configured),
        delay_s=options.drain_delay_s,
        supervisor=Supervisor.of_process(),
        address=options.host,
        port=options.port,
        interface=Interfaces.RSGI,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        workers=options.workers,
        respawn_failed_workers=True,
        # Idle ones count, so that each machine of a large fleet may keep one.
        backpressure=CONNECTIONS,
        workers_kill_timeout=options.drain_s,
        websockets=False,
        log_level=LogLevels.error,
        log_dictconfig=_GRANIAN_LOGS,
    )
    LOG.info("Listening on http://%s", _shown(options))
    try:
        # granian asks for a callable, and takes an object with __rsgi__ as well.
        loader: Any = partial(make_worker_app, configured, run)
        server.serve(target_loader=loader, wrap_loader=False)
    finally:
        run.end()


def warn_of_unknown(settings: Settings) -> None:
    """Log a warning for each unknown option."""
    for warning in settings.unknown:
        LOG.warning("%s", warning)


def _reread(configured: Configured) -> Settings:
    settings = configured.reread()
    warn_of_unknown(settings)
    return settings


def make_worker_app(configured: Configured, run: RunDirectory) -> Front:
    """In a worker: open the engine and build the application. SystemExit on failure."""
    # On Ctrl-C the parent sends SIGTERM; both signals at once can hang a worker.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # SIGHUP is for the parent; its default would end the worker.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _end_with_parent()
    try:
        settings = configured.settings
        begin_logging(settings.log, "gantt")
        with kept_from_collections():
            front, gantt, traces = _open_front(settings, run)
        stack = ExitStack()
        if traces is not None:
            stack.callback(traces.close)
        stack.callback(gantt.close)
        stack.enter_context(watching(settings.coordination, gantt))
        stack.enter_context(taking_in(settings.stream, gantt))
        stack.enter_context(publishing(settings.stream, gantt))
    except GanttError as error:
        LOG.error("%s", error)  # errors are flushed at once
        sys.exit(1)
    # Workers end without atexit, but run these.
    Finalize(None, stack.close, exitpriority=10)
    Finalize(None, flush_logs, exitpriority=1)
    return front


@contextmanager
def kept_from_collections() -> Iterator[None]:
    """The books and modules that come meanwhile are kept as long as the process: never
    look for garbage in them. A report alone makes a thousand objects, all freed
    without a collection."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
    gc.set_threshold(*_GARBAGE)


def _open_front(
    settings: Settings, run: RunDirectory
) -> tuple[Front, Engine, Tracing | None]:
    from gantt.api.access.confirmed_tokens import ConfirmedTokens
    from gantt.api.app import build_turned_away
    from gantt.api.hosting.front import Front
    from gantt.api.hosting.pools import Pools

    tokens = ConfirmedTokens(settings.auth)
    is_asked = settings.auth.strategy == "keystone"
    pools = Pools(settings, tokens if is_asked else None)
    service = _open(settings, run, pools.counts, tokens)
    address = {"address": _shown(settings.serve)}
    log = serving("Serving on http://%s", address, service.gantt, service.load_s)

    def serves() -> None:
        run.serve()
        log()

    front = Front(
        service.app,
        pools,
        turned_away=build_turned_away(service.meters),
        refused=service.meters.refused,
        is_stopping=run.is_stopping,
        serves=serves,
    )
    return front, service.gantt, service.traces


def _allow_open_files(wanted: int) -> None:
    """Raise the soft limit as far as the hard one permits: without spare file
    descriptors, a server spins."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _end_with_parent() -> None:
    """Have the kernel kill this worker when its parent dies (Linux).

    An orphaned worker would keep the port, and could not be stopped by name.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class _Service(Struct, frozen=True):
    app: WsgiApp
    gantt: Engine
    meters: Meters
    traces: Tracing | None
    load_s: float


def open_app(settings: Settings) -> tuple[WsgiApp, Engine]:
    """The application and its engine. Raises Refused."""
    service = _open(settings)
    return service.app, service.gantt


def _open(
    settings: Settings,
    run: RunDirectory | None = None,
    front_counts: Callable[[], Mapping[str, float]] = dict,
    tokens: ConfirmedTokens | None = None,
) -> _Service:
    """``run``: the directory shared with the parent, if any. Raises Refused."""
    from gantt.api.access.auth import TokenFile, build_authenticator
    from gantt.api.access.policy_engine import build_policy
    from gantt.api.app import build_app, build_meters
    from gantt.api.hosting.upkeep import Upkeep
    from gantt.connection import open_gantt

    def counts() -> dict[str, float]:
        tokens = authenticate.counts() if isinstance(authenticate, TokenFile) else {}
        return {**front_counts(), **tokens}

    check_database(settings)
    traces = tracing(settings.tracing, "gantt")
    began = time.monotonic()
    gantt = open_gantt(
        settings.database_url,
        settings.engine,
        session=placement_session(settings),
        propagate=dict if traces is None else traces.headers,
        progress=LoadingLog(),
    )
    load_s = time.monotonic() - began
    try:
        is_draining = _never if run is None else run.is_draining
        watchers = Watchers(settings.serve.watchers, is_draining)
        policy = build_policy(settings)
        authenticate = build_authenticator(settings.auth)
        meters = build_meters(gantt, watchers, policy, counts)
        app = build_app(
            gantt,
            settings,
            policy=policy,
            authenticate=authenticate,
            watchers=watchers,
            meters=meters,
            traces=traces,
            tokens=tokens,
        )
        if meters.folder:
            Upkeep(meters, gantt, run)
        return _Service(app, gantt, meters, traces, load_s)
    except BaseException:
        gantt.close()
        raise


def _never() -> bool:
    return False


def check_database(settings: Settings) -> None:
    """Raises Refused without a database, or with one that workers cannot share."""
    url = settings.database_url
    if not url:
        raise Refused(
            "No database is configured: give --database URL, or set "
            "[placement_database] connection."
        )
    if url.startswith(("http://", "https://")):
        raise Refused(
            f"{without_secrets(url)} is a service that is already "
            "running, not a database."
        )
    if url == "memory://" and settings.serve.workers > 1:
        raise Refused("memory:// supports only one process: set workers to 1.")


def check_policy(settings: Settings) -> None:
    """Raises Refused when a policy file cannot be used."""
    from gantt.api.access.policy_engine import build_policy

    build_policy(settings)


def check_bind(settings: Settings) -> None:
    """Raises Refused when noauth2 would be open to other machines."""
    options = settings.serve
    if settings.auth.strategy != "noauth2" or options.allow_insecure_bind:
        return
    if not is_loopback(options.host):
        raise Refused(
            "auth_strategy noauth2 does not authenticate callers, and "
            f"other machines can reach {options.host}. Listen on "
            "127.0.0.1, use token or keystone, or set [gantt] "
            "allow_insecure_bind = true if that is what you want."
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(entry[4][0]).is_loopback for entry in found)


def check_port(options: ServeOptions) -> None:
    """Raises Refused when the address is in use or is not of this machine.

    granian would share the port with any process that agrees to share it.
    """
    host, port = options.host, options.port
    try:
        taken = is_taken(host, port)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Refused(
            f"Cannot listen on {_shown(options)}: {reason}. With "
            "--listen, give an address of this machine and a port that "
            "this user may use."
        ) from error
    if taken:
        found = port_owner(host, port)
        raise Refused(
            f"Cannot listen on {_shown(options)}: the port is taken. {found} Stop "
            f"{found.ending(port)}, or choose another port with --listen."
        )


def _shown(options: ServeOptions) -> str:
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"{host}:{options.port}"
