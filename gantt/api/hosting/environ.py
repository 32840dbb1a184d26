"""The environment of a request as PEP 3333 has it, of what granian's RSGI tells.

As granian's own WSGI interface makes it, with two differences: variables of the process
are left out, and so are headers whose names have underscores, which could not be told
from those that a proxy has checked (X_Auth_Token from X-Auth-Token).
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, Protocol

from gantt.api.call import Environ


class Headers(Protocol):
    """Names in lower case; a name may come more than once."""

    def items(self) -> list[tuple[str, str]]: ...


class Scope(Protocol):
    """The head of a request; ``path`` is decoded, ``query_string`` is not."""

    http_version: str
    server: str
    client: str
    scheme: str
    method: str
    path: str
    query_string: str
    authority: str | None

    @property
    def headers(self) -> Headers: ...


_SAME_FOR_ALL: dict[str, Any] = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "Granian",
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": False,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


def environ_of(scope: Scope) -> Environ:
    """All of it but ``wsgi.input``."""
    path, query = scope.path, scope.query_string
    server, _, port = scope.server.rpartition(":")
    environ: Environ = {
        **_SAME_FOR_ALL,
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": path if path.isascii() else _as_wsgi(path),
        "QUERY_STRING": query if query.isascii() else _as_wsgi(query),
        "SERVER_NAME": server,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0],
        "HTTP_HOST": scope.authority or "",
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": sys.stderr,
    }
    seen: set[str] = set()
    for name, value in scope.headers.items():
        if "_" in name:
            continue
        key = _key(name)
        if key in seen:
            between = ";" if name == "cookie" else ","
            environ[key] += between + value
        else:
            seen.add(key)
            environ[key] = value
    return environ


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    """The name of a header in the environment."""
    key = name.upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"


def _as_wsgi(text: str) -> str:
    """Bytes in a str."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
