"""WSGI over granian's RSGI: the environment of a request, and how its answer is sent.

The environment is that of PEP 3333. It differs from that of granian's own WSGI
interface in two ways: variables of the process are left out, and so are headers whose
names have underscores, which could not be told from those that a proxy has checked
(X_Auth_Token from X-Auth-Token). An answer is sent from the thread that makes it: a
list in one piece, anything else chunk by chunk.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

from gantt.api.call import Environ
from gantt.api.hosting.uploads import RsgiExchange, RsgiTransport
from gantt.api.middleware import WsgiApp


class RequestHeaders(Protocol):
    """Names in lower case; a name may occur more than once."""

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
    def headers(self) -> RequestHeaders: ...


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
    """The environment without ``wsgi.input``."""
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
    """The key of a header in the environment."""
    key = name.upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"


def _as_wsgi(text: str) -> str:
    """UTF-8 bytes as WSGI has them: in a str."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


Headers = list[tuple[str, str]]
CLOSE = ("connection", "close")
# Its paths, below the mount.
_VERSION_DOCUMENT = ("", "/")
# How often the thread of a stream checks that it is still wanted.
_TURN_S = 0.5


class HttpAnswer:
    """The answer of the application. ``chunks`` None: all of it is in ``body``."""

    __slots__ = ("body", "chunks", "headers", "status")

    def __init__(self) -> None:
        self.status = 500
        self.headers: Headers = []
        self.body = b""
        self.chunks: Iterable[bytes] | None = None

    def start(self, status: str, headers: Headers, _exc_info: object = None) -> None:
        """PEP 3333's start_response."""
        self.status = int(status[:3])
        self.headers = headers

    def without_body(self) -> HttpAnswer:
        """This answer to a HEAD request: its status and headers alone."""
        found = HttpAnswer()
        found.status, found.headers = self.status, self.headers
        return found


def ask(app: WsgiApp, environ: Environ) -> HttpAnswer:
    """Raises what the application raises.

    After the version document the connection is closed: nova-scheduler asks for it
    before it forks, and its workers would share the connection and read each other's
    answers. It is done here, because PEP 3333 keeps that header from applications.
    """
    answer = HttpAnswer()
    found: Iterable[bytes] = app(environ, answer.start)
    if environ["PATH_INFO"] in _VERSION_DOCUMENT:
        answer.headers.append(CLOSE)
    if isinstance(found, list):
        answer.body = found[0] if len(found) == 1 else b"".join(found)
    else:
        answer.chunks = found
    return answer


def send(exchange: RsgiExchange, answer: HttpAnswer) -> None:
    """Send ``answer`` in one piece."""
    exchange.response_bytes(answer.status, answer.headers, answer.body)


class AnswerStream:
    """Sends an answer while it is made, in the thread that makes it.

    ``is_stopping``: whether the server stops now.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        exchange: RsgiExchange,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._exchange = exchange
        self._is_stopping = is_stopping
        self._is_gone = False

    def run(self, answer: HttpAnswer, chunks: Iterable[bytes]) -> None:
        """Until all is sent or the client has gone. Raises what ``chunks`` raises."""
        watch = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)
        try:
            transport = self._exchange.response_stream(answer.status, answer.headers)
            for chunk in chunks:
                if self._is_gone or (chunk and not self._send(transport, chunk)):
                    break
        finally:
            watch.cancel()
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def _send(self, transport: RsgiTransport, chunk: bytes) -> bool:
        """Whether ``chunk`` was accepted."""
        sending = asyncio.run_coroutine_threadsafe(_sent(transport, chunk), self._loop)
        while True:
            try:
                return sending.result(_TURN_S)
            except NotYet:
                if self._is_gone or self._is_stopping():
                    sending.cancel()
                    return False

    async def _watch(self) -> None:
        with suppress(RuntimeError):
            await self._exchange.client_disconnect()
        self._is_gone = True


async def _sent(transport: RsgiTransport, chunk: bytes) -> bool:
    try:
        await transport.send_bytes(chunk)
    except RuntimeError:  # granian: the client has gone
        return False
    return True
