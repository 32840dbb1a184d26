"""Serves the dashboard below /gantt/ui: files of this package, which hold no data.

They need no token, so this stands before authentication. What the pages show they ask
of the API, with a token like any client. Browsers are told to run nothing but these
files and to talk to nothing but this service.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gantt.api.call import Environ
from gantt.api.middleware import ROUTE, StartResponse, WsgiApp
from gantt.api.ui.sign_in import SignIn, build_sign_in
from gantt.conf import Settings
from gantt.observe.metrics import Meters

PATH: Final = "/gantt/ui"
STATIC: Final = Path(__file__).parent / "static"
SETTINGS: Final = "settings.json"
SIGN_IN: Final = "sign-in"
_INDEX: Final = "index.html"
_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFETY: Final = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
# Asked for each time and sent only if it has changed: all files are of one release.
_FRESH: Final = ("cache-control", "no-cache")


class File(Struct, frozen=True):
    """One file, as it is sent; ``etag`` in quotes; ``also``: headers of its own."""

    body: bytes
    kind: str
    etag: str
    also: tuple[tuple[str, str], ...] = ()


def read_files(auth: str, *, takes_passwords: bool = False) -> dict[str, File]:
    """Name -> file, of all files and the settings; ``auth``: the strategy."""
    bodies = {path.name: path.read_bytes() for path in sorted(STATIC.iterdir())}
    bodies[SETTINGS] = json.dumps(
        {"auth": auth, "takes_passwords": takes_passwords}
    ).encode()
    files = {name: _file(name, body) for name, body in bodies.items()}
    return files | {_INDEX: replace(files[_INDEX], also=(_modules(files),))}


def _modules(names: Iterable[str]) -> tuple[str, str]:
    """Has the browser ask for all modules at once: else each would wait for the one
    that imports it."""
    modules = [name for name in names if name.endswith(".js")]
    return "link", ", ".join(f"<ui/{name}>; rel=modulepreload" for name in modules)


def _file(name: str, body: bytes) -> File:
    digest = hashlib.sha256(body).hexdigest()[:32]
    return File(body, _KINDS[Path(name).suffix], f'"{digest}"')


def build_dashboard(app: WsgiApp, settings: Settings, meters: Meters) -> WsgiApp:
    """The dashboard before ``app``, as configured; its counts are among ``meters``."""
    entrance = build_sign_in(settings)
    if entrance is not None:
        meters.add(entrance.counts)
    return with_dashboard(app, settings.auth.strategy, entrance)


def with_dashboard(app: WsgiApp, auth: str, sign_in: SignIn | None = None) -> WsgiApp:
    """Serve the dashboard before ``app``; ``auth``: the strategy that ``app`` uses;
    ``sign_in``: with a password, None: only with a token."""
    files = read_files(auth, takes_passwords=sign_in is not None)
    below = PATH + "/"

    def serve(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path != PATH and not path.startswith(below):
            return app(environ, start_response)
        environ[ROUTE] = PATH
        name = path[len(below) :]
        if name == SIGN_IN and sign_in is not None:
            return _sign_in(sign_in, environ, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _short(start_response, "405 Method Not Allowed", ("allow", "GET"))
        if path == below:  # names in the page are relative to the path without it
            return _short(
                start_response, "308 Permanent Redirect", ("location", "../ui")
            )
        file = files.get(name or _INDEX)
        if file is None:
            return _short(start_response, "404 Not Found")
        return _send(file, environ, start_response)

    return serve


def _sign_in(
    sign_in: SignIn, environ: Environ, start_response: StartResponse
) -> list[bytes]:
    if environ["REQUEST_METHOD"] != "POST":
        return _short(start_response, "405 Method Not Allowed", ("allow", "POST"))
    reply = sign_in.answer(environ)
    about = [
        ("content-type", _KINDS[".json"]),
        ("content-length", str(len(reply.body))),
        ("cache-control", "no-store"),
    ]
    start_response(reply.status, [*about, *_SAFETY])
    return [reply.body]


def _short(
    start_response: StartResponse, status: str, *headers: tuple[str, str]
) -> list[bytes]:
    body = f"{status[4:]}\n".encode()
    about = [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(len(body))),
    ]
    start_response(status, [*about, *headers, *_SAFETY])
    return [body]


def _send(
    file: File, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    headers = [("etag", file.etag), _FRESH, *file.also, *_SAFETY]
    known = environ.get("HTTP_IF_NONE_MATCH", "")
    if file.etag in (one.strip().removeprefix("W/") for one in known.split(",")):
        start_response("304 Not Modified", headers)
        return []
    headers[:0] = [
        ("content-type", file.kind),
        ("content-length", str(len(file.body))),
    ]
    start_response("200 OK", headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [file.body]
