"""The HTTP application: the way of a request from the socket to a handler and back.

``build_app`` lists what wraps the routes, outermost last; ``STEPS`` lists what every
request goes through before its route is looked for. Which error wins is decided by
these two orders and nothing else. All of falcon's own ways are overridden here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import falcon

from gantt import errors
from gantt.api.access.auth import (
    ANYBODY,
    OPEN_PATHS,
    Authenticate,
    build_authenticator,
    unauthorized,
)
from gantt.api.access.policy import build_policy
from gantt.api.call import UNREAD, Call, Caller, Door, Policy, Unread
from gantt.api.hosting.envelope import (
    CALLER,
    ORIGIN_ID,
    REQUEST_ID,
    ROUTE,
    Environ,
    StartResponse,
    WsgiApp,
    logged,
    mounted,
    with_health,
    with_metrics,
)
from gantt.api.hosting.middleware import (
    accept_proxy_headers,
    allow_origins,
    require_keystone,
)
from gantt.api.hosting.watchers import Watchers
from gantt.api.routes import ROUTES, Route, Router
from gantt.api.wire import microversion
from gantt.api.wire.problem import Problem, Scene, render, status_line, translate
from gantt.conf import Settings
from gantt.observe.metrics import CONTENT_TYPE, Meters

LOG = logging.getLogger(__name__)
UNEXPECTED = (
    "An unexpected error occurred. See the service's log entry with this request id."
)


def build_app(
    gantt: Any,
    settings: Settings,
    *,
    policy: Policy | None = None,
    authenticate: Authenticate | None = None,
    watchers: Watchers | None = None,
    meters: Meters | None = None,
    clock: Callable[[], float] = time.time,
) -> WsgiApp:
    """The whole service as a WSGI application over ``gantt``. Raises Refused."""
    door = Door(
        gantt=gantt,
        options=settings.api,
        policy=policy or build_policy(settings),
        clock=clock,
        watchers=watchers or Watchers(settings.serve.watchers),
    )
    meters = meters or build_meters(gantt, door.watchers, door.policy)
    gantt.observe(meters)
    app = build_routes(door, authenticate or build_authenticator(settings.auth))
    if settings.auth.strategy == "keystone":
        app = require_keystone(app, settings.oslo)
    if settings.allowed_origin:
        app = allow_origins(app, settings.oslo)
    app = logged(app, meters.served)
    app = with_health(app, lambda: _unready(door))
    app = with_metrics(app, lambda: _metrics(meters), CONTENT_TYPE)
    app = mounted(app)
    if settings.proxy_headers:
        app = accept_proxy_headers(app, settings.oslo)
    return app


def build_turned_away(meters: Meters) -> WsgiApp:
    """Answers what the server has no thread for, from the loop: it must not wait."""

    def refuse_all(environ: Environ, start_response: StartResponse) -> list[bytes]:
        unread: Unread = environ[UNREAD]
        scene = Scene(
            method=environ["REQUEST_METHOD"],
            accept=environ["HTTP_ACCEPT"],
            content_type=environ.get("CONTENT_TYPE") or "",
            request_id=environ[REQUEST_ID],
            version=None,
        )
        content_type, body = render(unread.problem(), scene)
        length = ("content-length", str(len(body)))
        headers = [("content-type", content_type), length, *unread.headers]
        start_response(status_line(unread.status), headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return logged(refuse_all, meters.served)


def build_meters(
    gantt: Any,
    watchers: Watchers,
    policy: Policy | None = None,
    front_counts: Callable[[], Mapping[str, float]] = dict,
) -> Meters:
    """What of ``gantt``, its door and what stands before it is measured."""

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
    """Everything from authentication on, as a falcon application."""
    app = falcon.App(
        middleware=[Pipeline(door, authenticate)],
        router=cast(Any, Router(routes)),
    )
    app.resp_options.default_media_type = cast(Any, None)
    app.req_options.strip_url_path_trailing_slash = False
    app.add_error_handler(Exception, _on_bug)
    app.add_error_handler(falcon.HTTPError, _on_falcon)
    app.add_error_handler(errors.GanttError, _on_refusal)
    app.add_error_handler(Problem, _on_problem)
    return app


class Pipeline:
    """falcon's hook before routing: makes the Call and takes it through STEPS."""

    def __init__(self, door: Door, authenticate: Authenticate) -> None:
        self._door = door
        self._authenticate = authenticate

    def process_request(
        self, request: falcon.Request, response: falcon.Response
    ) -> None:
        """Raises Problem."""
        environ = request.env
        call = Call(
            self._door, request, response, request_id=environ.get(ORIGIN_ID, "")
        )
        request.context = cast(Any, call)
        call.caller = environ[CALLER] = identify(environ, self._authenticate)
        for step in STEPS:
            step(call)

    def process_response(
        self,
        request: falcon.Request,
        _response: falcon.Response,
        _resource: object,
        _is_good: bool,
    ) -> None:
        """Without the circle of Request and Call the body is gone once it is sent,
        rather than when garbage is next collected."""
        request.context = cast(Any, None)
        request.env[ROUTE] = request.uri_template or ""


def identify(environ: dict[str, Any], authenticate: Authenticate) -> Caller:
    """The caller; the version document needs none. Raises Problem 401."""
    if environ.get("PATH_INFO", "") in OPEN_PATHS:
        return ANYBODY
    caller = authenticate(environ)
    if caller.user_id is None:
        raise unauthorized()
    return caller


def negotiate(call: Call) -> None:
    """Settle the microversion, and say it in the answer. Raises Problem 400, 406."""
    minor = microversion.negotiate(call.request.env.get("HTTP_OPENSTACK_API_VERSION"))
    call.version = minor
    call.is_negotiated = True
    # Directly, since these two are on every answer and their names are lower case.
    headers = call.response._headers
    headers["openstack-api-version"] = microversion.ANSWERS[minor]
    headers["vary"] = microversion.HEADER


def check_length(call: Call) -> None:
    """A length must be a number, and needs a type. Raises Problem 400."""
    environ = call.request.env
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
    if len(call.request.env.get("QUERY_STRING", "")) > limit:
        text = f"A query string may have at most {limit} bytes."
        raise Problem(414, text, vary=False)


STEPS: tuple[Callable[[Call], None], ...] = (negotiate, check_length, check_query)


# ------------------------------------------------------------- falcon's error handlers


def refuse(
    request: falcon.Request, response: falcon.Response, problem: Problem
) -> None:
    """Write ``problem`` as the answer."""
    call = request.context
    is_negotiated = isinstance(call, Call) and call.is_negotiated
    environ = request.env
    scene = Scene(
        method=request.method,
        accept=environ.get("HTTP_ACCEPT", "application/json"),
        content_type=environ.get("CONTENT_TYPE") or "",
        request_id=environ.get(REQUEST_ID, ""),
        version=call.version if is_negotiated else None,
    )
    response.status = status_line(problem.status)
    response.content_type, response.data = render(problem, scene)
    for name, value in problem.headers:
        response.set_header(name, value)
    if not problem.vary:
        response.delete_header("vary")


def _on_problem(
    request: falcon.Request,
    response: falcon.Response,
    problem: Any,
    _fields: dict[str, Any],
) -> None:
    refuse(request, response, problem)


def _on_refusal(
    request: falcon.Request,
    response: falcon.Response,
    error: Any,
    _fields: dict[str, Any],
) -> None:
    problem = translate(error)
    call = request.context
    is_told = isinstance(call, Call) and call.gantt.is_told(error)
    if error.told and not is_told:  # what callers are not told
        LOG.error("[%s] %s", request.env.get(REQUEST_ID), error.message)
    refuse(request, response, problem)


def _on_falcon(
    request: falcon.Request,
    response: falcon.Response,
    error: Any,
    _fields: dict[str, Any],
) -> None:
    """falcon's own: no route, or a request that it cannot read."""
    status = 404 if isinstance(error, falcon.HTTPRouteNotFound) else 400
    detail = "" if status == 404 else error.description or error.title or ""
    refuse(request, response, Problem(status, detail, vary=False))


def _on_bug(
    request: falcon.Request,
    response: falcon.Response,
    error: Any,
    _fields: dict[str, Any],
) -> None:
    """Our mistake: logged with its traceback. What it says may be anything, a statement
    or a path, so that callers are told where to look and no more."""
    LOG.error(
        "[%s] Unexpected error in %s %r",
        request.env.get(REQUEST_ID),
        request.method,
        request.path,
        exc_info=error,
    )
    refuse(request, response, Problem(500, UNEXPECTED, vary=False))
    response.delete_header(microversion.HEADER)
