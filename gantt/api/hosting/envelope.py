"""What wraps the routes, as WSGI middleware: mount, health, request id, log line.

The middleware of other projects (CORS, Keystone) sits between these and the routes, and
its answers need an id and a log line as well.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol
from urllib.parse import quote

from gantt.api.call import ANONYMOUS, Caller, Environ
from gantt.observe.logs import Lines

LOG = logging.getLogger("gantt.api.access")


ExcInfo = (
    tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]
)


class StartResponse(Protocol):
    """As PEP 3333 has it; what it returns is never used."""

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
# The id under which what the request does is known: where it began, or its own.
ORIGIN_ID = "gantt.origin_id"
ROUTE = "gantt.route"
CALLER = "gantt.caller"

_GLOBAL_ID = re.compile(r"req-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_PLAIN_PATH = re.compile(r"[!-~]*\Z")
_LINE = '[%s %s %s %s] %s "%s %s" status: %s len: %s microversion: %s'
_FIELDS = (
    *("global_request_id", "request_id", "user", "project", "remote"),
    *("method", "uri", "status", "len", "microversion"),
)
_VARIANTS = "89ab"


def mounted(app: WsgiApp) -> WsgiApp:
    """The same service below ``/placement`` as at the root."""
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
    """``path`` as bytes in a str, as WSGI has it; some servers leave text there."""
    try:
        path.encode("latin-1")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace").decode("latin-1")
    return path


def with_metrics(app: WsgiApp, read: Callable[[], bytes], content_type: str) -> WsgiApp:
    """/metrics: what ``read`` gives, without a token."""

    def serve(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/metrics" or environ["REQUEST_METHOD"] != "GET":
            return app(environ, start_response)
        body = read()
        headers = [("content-type", content_type), ("content-length", str(len(body)))]
        start_response("200 OK", headers)
        return [body]

    return serve


def with_health(app: WsgiApp, unready: Callable[[], str]) -> WsgiApp:
    """/livez: this process answers. /readyz, /healthcheck: it knows all that was
    committed and can do its work; ``unready`` says why not, or "".

    These need no token and leave no log line."""
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
        body = f"NOT READY: {reason}".encode() if reason else b"OK"
        start_response(
            "503 Service Unavailable" if reason else "200 OK",
            [
                ("content-type", "text/plain; charset=UTF-8"),
                ("content-length", str(len(body))),
                ("cache-control", "no-store"),
            ],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    return check


def request_ids(rng: random.Random) -> Callable[[], str]:
    """``req-`` and a version 4 uuid, over and over.

    Not uuid4(): it asks the kernel, which lets go of the interpreter's lock.
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
    """Requests are not counted."""


def logged(app: WsgiApp, served: Served = _unmeasured) -> WsgiApp:
    """Give the request an id, settle what it accepts, log one line about it, and tell
    ``served`` its route, method, status and seconds until the answer began."""
    make_id = request_ids(random.Random())  # noqa: S311 - ids are no secrets
    lines = Lines(LOG, _LINE, _FIELDS)
    clock = time.perf_counter

    def handle(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        started = clock()
        request_id = environ[REQUEST_ID] = make_id()
        sent_id = sent_request_id(environ)
        environ[ORIGIN_ID] = sent_id or request_id
        accept = environ.get("HTTP_ACCEPT")
        if not accept or accept == "*/*":
            environ["HTTP_ACCEPT"] = "application/json"
        # Taken now: what comes after may rewrite the environment.
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
        ) -> object:
            headers.append(("x-openstack-request-id", request_id))
            if LOG.isEnabledFor(logging.INFO):
                lines.log(_told(environ, path, status, headers, sent_id))
            route = environ.get(ROUTE, "")
            served(route, environ["REQUEST_METHOD"], status[:3], clock() - started)
            return start_response(status, headers, exc_info)

        return app(environ, start)

    return handle


def sent_request_id(environ: Environ) -> str:
    """The id that the request bears from where it began; "" without a sound one."""
    for name in ("HTTP_X_OPENSTACK_REQUEST_ID", "HTTP_X_OPENSTACK_GLOBAL_REQUEST_ID"):
        sent: str = environ.get(name, "")
        if sent and _GLOBAL_ID.match(sent):
            return sent
    return ""


def _told(
    environ: Environ,
    path: str,
    status: str,
    headers: list[tuple[str, str]],
    sent_id: str,
) -> tuple[str, ...]:
    """What ``_LINE`` says of a request."""
    length = version = "-"
    for name, value in headers:
        if name == "content-length":
            length = value
        elif name == "openstack-api-version":
            version = value.rpartition(".")[2]
    caller: Caller = environ.get(CALLER, ANONYMOUS)
    query = environ.get("QUERY_STRING")
    uri = path if _PLAIN_PATH.match(path) else quote(path, encoding="latin-1")
    return (
        sent_id or "-",
        environ[REQUEST_ID],
        caller.user_id or "-",
        caller.project_id or "-",
        environ.get("REMOTE_ADDR", "-"),
        environ["REQUEST_METHOD"],
        f"{uri}?{query}" if query else uri,
        status[:3],
        length,
        "-" if version == "-" else f"1.{version}",
    )
