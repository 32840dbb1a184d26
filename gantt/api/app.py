"""The HTTP application: the path of a request from the server to a handler and back.

``build_app`` lists what wraps the routes, outermost last; ``STEPS`` lists the checks
that precede routing. These two orders alone decide which error wins. There is no web
framework (ADR 5): an application is a function.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from gantt import errors
from gantt.api.access.auth import (
    OPEN_PATHS,
    Authenticate,
    build_authenticator,
    unauthorized,
)
from gantt.api.access.confirmed_tokens import ConfirmedTokens
from gantt.api.access.peers import Peers
from gantt.api.access.policy_engine import build_policy
from gantt.api.call import (
    ANONYMOUS,
    UNREAD,
    AccessPolicy,
    Call,
    Caller,
    Door,
    Environ,
    text_of,
)
from gantt.api.middleware import (
    CALLER,
    ORIGIN_ID,
    REQUEST_ID,
    StartResponse,
    WsgiApp,
    accept_proxy_headers,
    allow_origins,
    logged,
    mounted,
    require_keystone,
    traced,
    with_health,
    with_metrics,
)
from gantt.api.routes import ROUTES, Route, Router
from gantt.api.ui.dashboard import build_dashboard
from gantt.api.watchers import Watchers
from gantt.api.wire import microversion
from gantt.api.wire.problem import STATUS_LINES, Problem, Scene, render, translate
from gantt.conf import Settings
from gantt.engine.engine_protocol import Engine
from gantt.engine.reading.reader import WouldWait
from gantt.observe.endpoint import CONTENT_TYPE
from gantt.observe.metrics import Meters
from gantt.observe.tracing import Tracing, observed

LOG = logging.getLogger(__name__)
UNEXPECTED = (
    "An unexpected error occurred. See the service's log entry with this request id."
)


def build_app(
    gantt: Engine,
    settings: Settings,
    *,
    policy: AccessPolicy | None = None,
    authenticate: Authenticate | None = None,
    watchers: Watchers | None = None,
    meters: Meters | None = None,
    traces: Tracing | None = None,
    clock: Callable[[], float] = time.time,
    tokens: ConfirmedTokens | None = None,
) -> WsgiApp:
    """The whole service as a WSGI application over ``gantt``. ``traces``: None: there
    are none. Raises Refused."""
    door = Door(
        gantt=gantt,
        options=settings.api,
        policy=policy or build_policy(settings),
        clock=clock,
        watchers=watchers or Watchers(settings.serve.watchers),
    )
    meters = meters or build_meters(gantt, door.watchers, door.policy)
    gantt.observe(observed(meters, traces))
    peers = Peers(settings.auth.advice_from)
    authenticate = authenticate or build_authenticator(settings.auth)
    app = build_routes(door, peers.admitted(authenticate))
    if settings.auth.strategy == "keystone":
        tokens = tokens or ConfirmedTokens(settings.auth)
        meters.add(tokens.counts)
        app = require_keystone(app, settings.oslo, peers.include, tokens)
    if settings.serve.dashboard:
        app = build_dashboard(app, settings, meters)
    if settings.allowed_origin:
        app = allow_origins(app, settings.oslo)
    if traces is not None:
        app = traced(app, traces)
    app = logged(app, meters.served)
    app = with_health(app, lambda: _unready(door), door.gantt.notice)
    app = with_metrics(app, lambda: _metrics(meters), CONTENT_TYPE)
    app = mounted(app)
    if settings.proxy_headers:
        app = accept_proxy_headers(app, settings.oslo)
    return app


def build_turned_away(meters: Meters) -> WsgiApp:
    """Answers requests for which the server has no thread.

    It runs in the event loop and must not wait.
    """

    def refuse_all(environ: Environ, start_response: StartResponse) -> list[bytes]:
        problem: Problem = environ[UNREAD]
        content_type, body = render(problem, scene_of(environ, None))
        length = ("content-length", str(len(body)))
        headers = [("content-type", content_type), length, *problem.headers]
        start_response(STATUS_LINES[problem.status], headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return logged(refuse_all, meters.served)


def build_meters(
    gantt: Engine,
    watchers: Watchers,
    policy: AccessPolicy | None = None,
    front_counts: Callable[[], Mapping[str, float]] = dict,
) -> Meters:
    """The metrics of ``gantt``, its door and the server before it."""

    def counts() -> dict[str, float]:
        return {
            **gantt.counts(),
            **watchers.counts(),
            **gantt.keeping_up(),
            **({} if policy is None else policy.counts()),
            **front_counts(),
        }

    return Meters(counts, gantt.totals)


def _metrics(meters: Meters) -> bytes:
    meters.mirror()
    return meters.exposition()


def _unready(door: Door) -> str:
    if door.watchers.is_draining():
        return "draining"
    return str(door.gantt.unready())


def build_routes(
    door: Door,
    authenticate: Authenticate,
    routes: dict[str, dict[str, Route]] = ROUTES,
) -> WsgiApp:
    """Everything from authentication on."""
    router = Router(routes)

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        call = Call(door, environ, environ.get(ORIGIN_ID, ""))
        try:
            call.caller = environ[CALLER] = identify(environ, authenticate)
            for step in STEPS:
                step(call)
            router.dispatch(call)
        except WouldWait:
            raise
        except Exception as error:
            refuse(call, error)
        return send(call, start_response)

    return answer


def send(call: Call, start_response: StartResponse) -> Iterable[bytes]:
    """The answer of ``call`` as WSGI has it."""
    chunks: Iterable[bytes] = []
    if call.body is not None:
        chunks = [call.body]
        call.headers["content-length"] = str(len(call.body))
    elif call.stream is not None:
        chunks = call.stream
    elif call.status != 204:
        call.headers["content-length"] = "0"
    start_response(STATUS_LINES[call.status], list(call.headers.items()))
    return chunks if call.environ["REQUEST_METHOD"] != "HEAD" else []


def identify(environ: Environ, authenticate: Authenticate) -> Caller:
    """The caller; open documents need none. Raises Problem 401."""
    if environ.get("PATH_INFO", "") in OPEN_PATHS:
        return ANONYMOUS
    caller = authenticate(environ)
    if caller.user_id is None:
        raise unauthorized()
    return caller


def negotiate(call: Call) -> None:
    """Determine the microversion and name it in the answer. Raises Problem 400, 406."""
    minor = microversion.negotiate(call.environ.get("HTTP_OPENSTACK_API_VERSION"))
    call.version = minor
    call.is_negotiated = True
    call.headers[microversion.HEADER] = microversion.ANSWERS[minor]
    call.headers["vary"] = microversion.HEADER


def check_length(call: Call) -> None:
    """A length must be a number, and a body needs a type. Raises Problem 400."""
    environ = call.environ
    length = environ.get("CONTENT_LENGTH")
    if not length:
        return
    try:
        has_body = int(length) != 0
    except ValueError:
        text = "content-length header must be an integer"
        raise Problem(400, text, vary=False) from None
    if has_body and not environ.get("CONTENT_TYPE"):
        text = "content-type header required when content-length > 0"
        raise Problem(400, text, vary=False)


def check_query(call: Call) -> None:
    """Raises Problem 414 when the query string is longer than allowed."""
    limit = call.options.max_query_bytes
    if len(call.environ.get("QUERY_STRING", "")) > limit:
        text = f"A query string may have at most {limit} bytes."
        raise Problem(414, text, vary=False)


STEPS: tuple[Callable[[Call], None], ...] = (negotiate, check_length, check_query)


# -------------------------------------------------------------------------- refusals


def refuse(call: Call, error: Exception) -> None:
    """Make ``error`` the answer of ``call``."""
    if isinstance(error, Problem):
        write(call, error)
    elif isinstance(error, errors.GanttError):
        if error.told and not call.gantt.is_logged(error):  # callers are not shown it
            LOG.error("[%s] %s", call.environ.get(REQUEST_ID), error.message)
        write(call, translate(error))
    else:
        _log_bug(call, error)
        write(call, Problem(500, UNEXPECTED, vary=False))
        call.headers.pop(microversion.HEADER, None)


def write(call: Call, problem: Problem) -> None:
    """Make ``problem`` the answer of ``call``."""
    scene = scene_of(call.environ, call.version if call.is_negotiated else None)
    call.status = problem.status
    call.headers["content-type"], call.body = render(problem, scene)
    call.headers.update(problem.headers)
    if not problem.vary:
        call.headers.pop("vary", None)


def scene_of(environ: Environ, version: int | None) -> Scene:
    """What a refusal shows of its request; ``version`` None: not negotiated."""
    return Scene(
        method=environ["REQUEST_METHOD"],
        accept=environ.get("HTTP_ACCEPT", "application/json"),
        content_type=environ.get("CONTENT_TYPE") or "",
        request_id=environ.get(REQUEST_ID, ""),
        version=version,
    )


def _log_bug(call: Call, error: Exception) -> None:
    """A defect is logged with its traceback. Its message may name a statement or a
    path, so callers are only told where to look."""
    LOG.error(
        "[%s] Unexpected error in %s %r",
        call.environ.get(REQUEST_ID),
        call.environ["REQUEST_METHOD"],
        text_of(call.environ.get("PATH_INFO", "")),
        exc_info=error,
    )
