"""Requests to a Placement service: keep-alive sockets, or a keystone session.

Separate from the client so that requests (paths, bodies) and their transport
(connections, tokens, lost sockets) can be tested and replaced independently.
"""

from __future__ import annotations

import select
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from gantt import errors
from gantt.model.addresses import without_secrets

MAX_IDLE = 32
# Most bytes of a reply between two looks at the clock, or that are held for a file.
_PART = 1 << 16
_REFUSALS = 300
_STREAMED = {"stream": True, "log": False}
ADVICE = (
    "Check that the service runs ('gantt serve') and that the address is right "
    "(--url, GANTT_URL)."
)


class Reply(Struct, frozen=True):
    """A response, read to its end; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Request(Struct, frozen=True):
    """What ``send`` was asked for; it may go over a second socket."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None
    into: BinaryIO | None


class Transport(Protocol):
    """Carries one request and brings back its reply, whatever its status."""

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        into: BinaryIO | None = None,
    ) -> Reply:
        """``into``: a file for the body of a reply that is no refusal; its ``body`` is
        empty then. Raises Unavailable without a reply, SignInRefused if authentication
        fails."""

    def close(self) -> None:
        """Close all connections."""


def transport_to(url: str, *, token: str, session: Any, timeout_s: float) -> Transport:
    """With ``token`` on sockets, or through a keystoneauth ``session``. Raises Invalid
    for an unusable ``url``."""
    if session is None:
        return SocketTransport(url, token=token, timeout_s=timeout_s)
    return SessionTransport(session, url, timeout_s=timeout_s)


class SocketTransport:
    """HTTP/1.1 with keep-alive; safe for many threads, one socket per request."""

    def __init__(self, url: str, *, token: str, timeout_s: float) -> None:
        try:
            # Other scripts have an ASCII form: %C3%A9 in a path, xn-- in a host.
            parts = urlsplit(url if url.isascii() else "")
        except ValueError:  # brackets that do not close
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise errors.Invalid(
                f"{without_secrets(url)!r} is not the address of a service: "
                "give http://HOST:PORT or https://HOST:PORT."
            )
        try:
            port = parts.port
        except ValueError:  # its text may contain part of a password
            raise errors.Invalid(
                f"{without_secrets(url)!r} has no usable port: give a number from 0 to "
                "65535, and write / in a password as %2F."
            ) from None
        self._url = without_secrets(url)
        self._host = parts.hostname
        self._port = port
        self._prefix = parts.path.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        # Made once: loading the system's certificates takes tens of milliseconds.
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: deque[HTTPConnection] = deque(maxlen=MAX_IDLE)
        self._lock = threading.Lock()

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        into: BinaryIO | None = None,
    ) -> Reply:
        """Sends a request, and reads its reply. A GET is sent again if the server had
        closed the socket."""
        sent = {**headers, "x-auth-token": self._token}
        request = _Request(method, path, sent, body, into)
        connection, is_used = self._take()
        while True:
            try:
                return self._exchange(connection, request)
            except (OSError, HTTPException) as error:
                connection.close()
                # Only reads may be repeated: a write may already have been done.
                if not is_used or method != "GET" or isinstance(error, TimeoutError):
                    raise self._failure(method, error) from error
            except BaseException:  # what is left of the answer serves no other request
                connection.close()
                raise
            connection, is_used = self._open(), False

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def _exchange(self, connection: HTTPConnection, request: _Request) -> Reply:
        connection.request(
            request.method,
            self._prefix + request.path,
            body=request.body,
            headers=request.headers,
        )
        response = connection.getresponse()
        if request.into is None or response.status >= _REFUSALS:
            content = response.read()
        else:
            content = _kept(iter(partial(response.read, _PART), b""), request.into)
        reply = Reply(
            status=response.status,
            headers={name.lower(): value for name, value in response.getheaders()},
            body=content,
        )
        if response.will_close:
            connection.close()
        else:
            self._give_back(connection)
        return reply

    def _take(self) -> tuple[HTTPConnection, bool]:
        """A connection, and whether it has been used before."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._open(), False
            if _is_quiet(connection):
                return connection, True
            connection.close()

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> HTTPConnection:
        if self._tls is not None:
            return HTTPSConnection(
                self._host, self._port, timeout=self._timeout_s, context=self._tls
            )
        return HTTPConnection(self._host, self._port, timeout=self._timeout_s)

    def _failure(self, method: str, error: Exception) -> errors.Unavailable:
        if isinstance(error, TimeoutError):
            reason = f"no data was received within {self._timeout_s:g} s"
        else:
            reason = getattr(error, "strerror", None) or str(error) or repr(error)
        text = f"No answer from {self._url}: {reason}. {ADVICE}"
        is_refused = isinstance(error, ConnectionRefusedError)
        if method != "GET" and not is_refused:
            text += " The change may have been made: check before you repeat it."
        return errors.Unavailable(text)


def _kept(parts: Iterable[bytes], into: BinaryIO) -> bytes:
    """Write ``parts`` in place of what an attempt before has left; nothing. Raises
    Unavailable where the file takes no more."""
    into.seek(0)
    into.truncate()
    for part in parts:
        try:
            into.write(part)
        except OSError as error:
            raise errors.Unavailable(
                f"The answer cannot be kept in a temporary file: {error.strerror}. "
                "TMPDIR may name a directory with more room."
            ) from error
    return b""


def _is_quiet(connection: HTTPConnection) -> bool:
    """Whether an idle socket is open with nothing to read (readable means closed)."""
    socket = connection.sock
    if socket is None:
        return False
    try:
        if hasattr(select, "poll"):  # no limit on the number of the descriptor
            poller = select.poll()
            poller.register(socket, select.POLLIN)
            return not poller.poll(0)
        return not select.select([socket], [], [], 0)[0]
    except (OSError, ValueError):
        return False


class SessionTransport:
    """Requests through a keystoneauth session, which authenticates.

    keystoneauth is never imported: this package does not require it.
    An empty ``url`` leaves the endpoint of ``service`` (its type) to the session's
    catalogue. ``advice``: for a reader of errors. ``size_limit``: bytes that a reply
    may have, which are then read within ``timeout_s`` too; None: any.
    """

    def __init__(
        self,
        session: Any,
        url: str,
        *,
        timeout_s: float,
        service: str = "placement",
        advice: str = ADVICE,
        size_limit: int | None = None,
    ) -> None:
        self._session = session
        self._service = service
        self._advice = advice
        self._url = without_secrets(url)
        self._where: dict[str, Any] = (
            {"endpoint_override": url.rstrip("/")}
            if url
            else {"endpoint_filter": {"service_type": service}}
        )
        self._timeout_s = timeout_s
        self._size_limit = size_limit
        # A reply that the session logs is read at once.
        self._reading: dict[str, Any] = {} if size_limit is None else _STREAMED

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        into: BinaryIO | None = None,
    ) -> Reply:
        optional: dict[str, Any] = {} if body is None else {"data": body}
        try:
            response = self._session.request(
                path,
                method,
                headers=dict(headers),
                raise_exc=False,
                timeout=self._timeout_s,
                **self._where,
                **(self._reading if into is None else _STREAMED),
                **optional,
            )
            if into is None or response.status_code >= _REFUSALS:
                content = self._content(response, method, path)
            else:
                with closing(response):
                    content = _kept(response.iter_content(_PART), into)
        except errors.Unavailable:
            raise
        # raise_exc is off: this is a lost connection or failed authentication, in
        # classes of keystoneauth, which this package does not import.
        except Exception as error:
            where = self._place
            if getattr(error, "http_status", None) in (401, 403):
                raise errors.SignInRefused(
                    f"{where} refused to sign in: {error}"
                ) from error
            raise errors.Unavailable(
                f"No answer from {where}: {error}. {self._advice}"
            ) from error
        return Reply(
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            body=content,
        )

    @property
    def _place(self) -> str:
        return self._url or f"the {self._service} endpoint of the catalogue"

    def _content(self, response: Any, method: str, path: str) -> bytes:
        limit, began = self._size_limit, time.monotonic()
        if limit is None:
            whole: bytes = response.content
            return whole
        parts, size = [], 0
        # What has arrived; older libraries wait for a whole part.
        read = getattr(response.raw, "read1", response.raw.read)
        with closing(response):
            while part := read(_PART, decode_content=True):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise errors.AnswerTooLarge(
                        f"The answer from {self._place} to {method} {path} has more "
                        f"than {limit} bytes, which is the limit."
                    )
                if time.monotonic() - began > self._timeout_s:
                    raise errors.Unavailable(
                        f"The answer from {self._place} to {method} {path} did not "
                        f"end within {self._timeout_s:g} s. {self._advice}"
                    )
        return b"".join(parts)

    def close(self) -> None:
        """Closes nothing: the session belongs to the caller and stays open."""
