"""WSGI middleware: what wraps the routes, Gantt's own and that of other projects.

Mount, health, metrics, request id and log line are ours. CORS, proxy headers and
Keystone's tokens are imported when they are configured and not before, so that a
service without them needs no package of the ``openstack`` extra.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, cast
from urllib.parse import quote

from gantt.api.access.auth import (
    CONFIRMED,
    OPEN_PATHS,
    UNCONFIRMED,
    Confirmed,
    keystone,
)
from gantt.api.access.confirmed_tokens import ConfirmedTokens
from gantt.api.call import ANONYMOUS, AT_ONCE, Caller, Environ
from gantt.api.wire.problem import STATUS_LINES, Problem, Scene, render
from gantt.engine.reading.reader import WouldWait
from gantt.errors import Refused, how_to_install
from gantt.observe.logs import NOTHING, RepeatedRecords
from gantt.observe.tracing import Tracing

# In the environment: keystonemiddleware has passed the request on.
_PASSED = "gantt.passed"
LOG = logging.getLogger("gantt.api.access")


ExcInfo = (
    tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]
)


class StartResponse(Protocol):
    """PEP 3333's start_response; its return value is never used."""

    def __call__(
        self,
        status: str,
        headers: list[tuple[str, str]],
        exc_info: ExcInfo | None = None,
        /,
    ) -> object: ...


WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]
Served = Callable[[str, str, str, float], None]

MOUNT = "/placement"
REQUEST_ID = "gantt.request_id"
# The id for whatever the request does: that of its origin, or its own.
ORIGIN_ID = "gantt.origin_id"
ROUTE = "gantt.route"
CALLER = "gantt.caller"

_GLOBAL_ID = re.compile(r"req-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_PLAIN_PATH = re.compile(r"[!-~]*\Z")
_OWN = "/gantt/"
# What is searched may be the name of an instance, and so may what is asked for as an id
# of something: `gantt explain` does not know which it has.
_SEARCHES = "|".join(
    "".join(f"(?:{one}|%{ord(one):x})" for one in name)
    for name in ("search", "request_id", "instance_uuid", "uuid")
)
_SEARCH = re.compile(
    rf"((?:^|&)(?:{_SEARCHES})=)(?!(?:req-)?[\da-f-]{{32,36}}(?:&|$))[^&]+",
    re.IGNORECASE,
)
_HIDDEN = r"\1…"
_LINE = '[%s %s %s %s] %s "%s %s" status: %s len: %s microversion: %s seconds: %.6f'
_FIELDS = tuple(
    (
        "global_request_id request_id user project remote method uri status len "
        "microversion seconds"
    ).split()
)
_VARIANTS = "89ab"
_TRACE_HEADERS = ("traceparent", "tracestate")


def mounted(app: WsgiApp) -> WsgiApp:
    """Serve ``app`` below ``/placement`` as well as at the root."""
    below = MOUNT + "/"

    def dispatch(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if not path.isascii():
            path = environ["PATH_INFO"] = _as_wsgi(path)
        if path.startswith(below) or path == MOUNT:
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + MOUNT
            environ["PATH_INFO"] = path[len(MOUNT) :]
        return app(environ, start_response)

    return dispatch


def _as_wsgi(path: str) -> str:
    """``path`` as bytes in a str, as WSGI wants it; some servers leave text there."""
    try:
        path.encode("latin-1")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace").decode("latin-1")
    return path


def with_metrics(app: WsgiApp, read: Callable[[], bytes], content_type: str) -> WsgiApp:
    """Answer /metrics with ``read()``, without authentication."""

    def serve(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/metrics" or environ["REQUEST_METHOD"] != "GET":
            return app(environ, start_response)
        body = read()
        headers = [("content-type", content_type), ("content-length", str(len(body)))]
        start_response("200 OK", headers)
        return [body]

    return serve


def with_health(
    app: WsgiApp, unready: Callable[[], str], notice: Callable[[], str] = str
) -> WsgiApp:
    """Answer /livez (this process answers), and /readyz and /healthcheck (it knows all
    commits and can do its work; ``unready`` says why not, or ""; ``notice`` is told
    although it is ready).

    These need no token and write no log line."""
    checks: dict[str, Callable[[], str]] = {
        "/livez": str,
        "/readyz": unready,
        "/healthcheck": unready,
    }

    def check(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        probe = checks.get(environ.get("PATH_INFO", ""))
        if probe is None or environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return app(environ, start_response)
        reason = probe()
        told = notice() if probe is unready and not reason else ""
        body = f"NOT READY: {reason}" if reason else f"OK: {told}" if told else "OK"
        start_response(
            "503 Service Unavailable" if reason else "200 OK",
            [
                ("content-type", "text/plain; charset=UTF-8"),
                ("content-length", str(len(body.encode()))),
                ("cache-control", "no-store"),
            ],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body.encode()]

    return check


def request_ids(rng: random.Random) -> Callable[[], str]:
    """Returns a function that makes ``req-`` and a version 4 uuid.

    Not uuid4(), which asks the kernel and so releases the interpreter's lock.
    """
    bits = rng.getrandbits

    def make() -> str:
        text = f"{bits(128):032x}"
        return (
            f"req-{text[:8]}-{text[8:12]}-4{text[13:16]}-"
            f"{_VARIANTS[bits(2)]}{text[17:20]}-{text[20:]}"
        )

    return make


def _unmeasured(route: str, method: str, code: str, seconds: float) -> None:
    """Do not count requests."""


def logged(app: WsgiApp, served: Served = _unmeasured) -> WsgiApp:
    """Give the request an id, normalize its Accept header, log a line about it, and
    call ``served`` with its route, method, status and seconds to the answer's start."""
    make_id = request_ids(random.Random())  # noqa: S311 - ids are not secret
    lines = RepeatedRecords(LOG, _LINE, _FIELDS)
    clock = time.perf_counter

    def handle(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        started = clock()
        request_id = environ[REQUEST_ID] = make_id()
        sent_id = sent_request_id(environ)
        environ[ORIGIN_ID] = sent_id or request_id
        accept = environ.get("HTTP_ACCEPT")
        if not accept or accept == "*/*":
            environ["HTTP_ACCEPT"] = "application/json"
        # Now, because what is called may rewrite the environment.
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
        ) -> object:
            headers.append(("x-openstack-request-id", request_id))
            seconds = clock() - started
            if LOG.isEnabledFor(logging.INFO):
                lines.log(_fields(environ, path, status, headers, sent_id, seconds))
            route = environ.get(ROUTE, "")
            served(route, environ["REQUEST_METHOD"], status[:3], seconds)
            return start_response(status, headers, exc_info)

        return app(environ, start)

    return handle


def traced(app: WsgiApp, traces: Tracing) -> WsgiApp:
    """A span for each request, from its arrival to the start of its answer, below that
    of its caller. Inside ``logged``, which gives the request its id."""

    def handle(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        given, carrier = environ["REQUEST_METHOD"], {}
        method = given if given in _KNOWN_METHODS else _OTHER_METHOD
        for name in _TRACE_HEADERS:
            value = environ.get(f"HTTP_{name.upper()}")
            if value:
                carrier[name] = value

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
        ) -> object:
            route = environ.get(ROUTE, "")
            if route:
                span.update_name(f"{method} {route}")
                span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", int(status[:3]))
            return start_response(status, headers, exc_info)

        with traces.span(method, "server", carrier) as span:
            span.set_attribute("http.request.method", method)
            span.set_attribute("gantt.request_id", environ[ORIGIN_ID])
            return app(environ, start)

    return handle


def sent_request_id(environ: Environ) -> str:
    """The id that the client sent; "" if there is none, or a malformed one."""
    for name in ("HTTP_X_OPENSTACK_REQUEST_ID", "HTTP_X_OPENSTACK_GLOBAL_REQUEST_ID"):
        sent: str = environ.get(name, "")
        if sent and _GLOBAL_ID.match(sent):
            return sent
    return ""


def _fields(
    environ: Environ,
    path: str,
    status: str,
    headers: list[tuple[str, str]],
    sent_id: str,
    seconds: float,
) -> tuple[object, ...]:
    """The fields of ``_LINE``."""
    version = "-"
    length: object = NOTHING
    for name, value in headers:
        if name == "content-length":
            length = int(value)
        elif name == "openstack-api-version":
            version = value.rpartition(".")[2]
    caller: Caller = environ.get(CALLER, ANONYMOUS)
    query = environ.get("QUERY_STRING")
    if query and _OWN in path:
        query = _SEARCH.sub(_HIDDEN, query)
    uri = path if _PLAIN_PATH.match(path) else quote(path, encoding="latin-1")
    return (
        sent_id or "-",
        environ[REQUEST_ID],
        caller.user_id or "-",
        caller.project_id or "-",
        environ.get("REMOTE_ADDR", "-"),
        environ["REQUEST_METHOD"],
        f"{uri}?{query}" if query else uri,
        int(status[:3]),
        length,
        "-" if version == "-" else f"1.{version}",
        round(seconds, 6),
    )


_ALLOW_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Identity-Status",
    "X-Roles",
    "X-Service-Catalog",
    "X-User-Id",
    "X-Tenant-Id",
    "OpenStack-API-Version",
]
_EXPOSE_HEADERS = [
    "X-Auth-Token",
    "X-Openstack-Request-Id",
    "X-Subject-Token",
    "X-Service-Token",
    "OpenStack-API-Version",
]
_ALLOW_METHODS = ["GET", "PUT", "POST", "DELETE", "PATCH"]
_KNOWN_METHODS = frozenset({*_ALLOW_METHODS, "HEAD", "OPTIONS"})
_OTHER_METHOD = "_OTHER"
"""What OpenTelemetry calls methods that are not known: names of spans are few."""


def require_keystone(
    app: WsgiApp,
    conf: Any,
    is_exempt: Callable[[Environ], bool],
    tokens: ConfirmedTokens,
) -> WsgiApp:
    """Validate tokens with Keystone, except for open documents, what is exempt, and
    ``tokens``, to which each is added."""
    auth_token = _load("keystonemiddleware.auth_token", "auth_strategy keystone")

    def confirmed(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        tokens.remember(environ)
        environ[_PASSED] = True
        is_confirmed = environ.get("HTTP_X_IDENTITY_STATUS") == "Confirmed"
        if UNCONFIRMED in environ and is_confirmed:
            raise Confirmed(keystone(environ))
        return app(environ, start_response)

    guarded = auth_token.AuthProtocol(confirmed, {"oslo_config_config": conf})

    def choose(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS or is_exempt(environ)
        if is_open or CONFIRMED in environ or tokens.recognize(environ):
            return app(environ, start_response)
        if AT_ONCE in environ:  # Keystone may have to be waited for
            raise WouldWait
        statuses: list[str] = []

        def start(status: str, *more: Any) -> object:
            statuses.append(status[:3])
            return start_response(status, *more)

        try:
            found = cast(Iterable[bytes], guarded(environ, start))
        except Exception as error:  # of whatever Keystone answered
            if _PASSED in environ:
                raise
            LOG.error(
                "Keystone cannot be understood: %s: %s", type(error).__name__, error
            )
            return _no_keystone(environ, start_response)
        if _PASSED not in environ and statuses == ["401"]:
            tokens.forget(environ)  # a Keystone that is away says nothing about it
        return found

    return choose


def _no_keystone(environ: Environ, start_response: StartResponse) -> list[bytes]:
    """The 503 for a token that could not be validated."""
    problem = Problem(
        503,
        "The token cannot be validated: Keystone's answer is none that its middleware "
        "understands. Check [keystone_authtoken], and what answers there; then try "
        "again.",
    )
    scene = Scene(
        method=environ["REQUEST_METHOD"],
        accept=environ.get("HTTP_ACCEPT", "application/json"),
        content_type=environ.get("CONTENT_TYPE") or "",
        request_id=environ.get(REQUEST_ID, ""),
        version=None,
    )
    kind, body = render(problem, scene)
    headers = [("content-type", kind), ("content-length", str(len(body)))]
    start_response(STATUS_LINES[503], [*headers, ("retry-after", "5")])
    return [body]


def allow_origins(app: WsgiApp, conf: Any) -> WsgiApp:
    """CORS as configured in [cors], whose defaults suit Placement's clients."""
    cors = _load("oslo_middleware.cors", "[cors] allowed_origin")
    conf.register_opts(cors.CORS_OPTS, "cors")
    conf.set_default("allow_headers", _ALLOW_HEADERS, "cors")
    conf.set_default("expose_headers", _EXPOSE_HEADERS, "cors")
    conf.set_default("allow_methods", _ALLOW_METHODS, "cors")
    return cast(WsgiApp, cors.CORS(app, conf))


def accept_proxy_headers(app: WsgiApp, conf: Any) -> WsgiApp:
    """Trust X-Forwarded-* and Forwarded, for a service behind a proxy."""
    module = _load(
        "oslo_middleware.http_proxy_to_wsgi",
        "[oslo_middleware] enable_proxy_headers_parsing",
    )
    return cast(WsgiApp, module.HTTPProxyToWSGI(app, conf))


def _load(name: str, what_for: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise Refused(
            f"{what_for} needs the Python module {name}, which is not installed: "
            + how_to_install("openstack")
        ) from error
