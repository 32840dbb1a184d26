"""What of a body is not read when the answer begins: read it, or close the connection.

A refusal often comes before anybody looks at the body. The server (hyper) can then not
tell the rest of the body from the next request and closes the connection, mostly after
it has answered as though it would stay: the client's next request fails. Apart from the
application because other servers see to this themselves, and some of them allow it to
nobody else (PEP 3333 leaves ``connection`` to the server).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gantt.api.call import BODY_READ, Caller
from gantt.api.envelope import CALLER, Environ, StartResponse, WsgiApp

_NOBODY = Caller()
_CHUNK = 1 << 16


def finished(app: WsgiApp, limit: int) -> WsgiApp:
    """``app``, and no body is left behind: up to ``limit`` bytes of one whose sender
    has signed in are read; after any other the answer says that the connection ends."""

    def handle(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None
        ) -> Any:
            if _is_left(environ) and not _drained(environ, limit):
                headers.append(("connection", "close"))
            return start_response(status, headers, exc_info)

        return app(environ, start)

    return handle


def _is_left(environ: Environ) -> bool:
    if BODY_READ in environ:
        return False
    if "HTTP_TRANSFER_ENCODING" in environ:
        return True
    return environ.get("CONTENT_LENGTH", "0") not in ("", "0")


def _drained(environ: Environ, limit: int) -> bool:
    """Whether the whole body was read. Nobody waits for the body of who has not signed
    in: whoever sends it slowly would have a thread for nothing."""
    caller: Caller = environ.get(CALLER, _NOBODY)
    length: str = environ.get("CONTENT_LENGTH") or ""
    if caller.user_id is None or (length.isdecimal() and int(length) > limit):
        return False
    stream, seen = environ["wsgi.input"], 0
    while seen <= limit:
        chunk = stream.read(_CHUNK)
        if not chunk:
            return True
        seen += len(chunk)
    return False
