"""A small HTTP server for monitoring, in a thread of a program that serves something
else: /metrics, /livez and /readyz.

Separate from the HTTP API, whose server such a program does not run. The answers need
no token; they name no host, user or password.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Final, Protocol

from gantt.errors import Refused
from gantt.model.addresses import split_listen

LOG = logging.getLogger(__name__)

# Requests at the same time; further ones are disconnected.
MOST: Final = 16
# Seconds that a client may be silent.
SILENCE_S: Final = 5.0
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Of an exposition."""
_TEXT: Final = "text/plain; charset=UTF-8"
Answer = tuple[int, str, bytes]


class Monitored(Protocol):
    """What is asked; in other threads."""

    def metrics(self) -> bytes:
        """The exposition."""

    def unready(self) -> str:
        """Why the program is not ready; "": it is."""

    def notice(self) -> str:
        """What operators should know although it is ready; "": nothing."""


@contextmanager
def answering(listen: str, monitored: Monitored) -> Iterator[None]:
    """Meanwhile ``listen`` (HOST:PORT; "": nothing) answers. Raises Refused."""
    if not listen:
        yield
        return
    endpoint = MonitoringServer(split_listen(listen), monitored)
    LOG.info("Metrics on http://%s/metrics", listen)
    try:
        yield
    finally:
        endpoint.close()


class MonitoringServer:
    """Serves at ``listen`` (host, port; 0: any free one) until ``close``.

    Raises Refused: the address cannot be used.
    """

    def __init__(self, listen: tuple[str, int], monitored: Monitored) -> None:
        self._monitored = monitored
        try:
            self._server = _server_of(listen)(listen, self._handler())
        except (OSError, UnicodeError) as error:
            raise Refused(
                f"Cannot listen on {listen[0]}, port {listen[1]} ([gantt] "
                f"metrics_listen): {error}. Give another address."
            ) from error
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="gantt-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str) -> Answer:
        """Status, type and body of the answer to a GET."""
        match path.partition("?")[0]:
            case "/metrics":
                return 200, CONTENT_TYPE, self._monitored.metrics()
            case "/livez":
                return 200, _TEXT, b"OK"
            case "/readyz":
                reason = self._monitored.unready()
                if reason:
                    return 503, _TEXT, f"NOT READY: {reason}".encode()
                told = self._monitored.notice()
                return 200, _TEXT, f"OK: {told}".encode() if told else b"OK"
        return 404, _TEXT, b"Here are /metrics, /livez and /readyz."

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            timeout = SILENCE_S

            def handle(self) -> None:
                with suppress(OSError):  # the client went away
                    super().handle()

            def do_GET(self) -> None:
                try:
                    status, kind, body = answer(self.path)
                except Exception:
                    LOG.exception("%s failed", self.path)
                    status, kind, body = 500, _TEXT, b"The log has the reason."
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.send_header("cache-control", "no-store")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Probes come every few seconds."""

        return Handler


class _Server(ThreadingHTTPServer):
    """With a limit on its threads."""

    def __init__(self, *args: Any) -> None:
        self._seats = threading.BoundedSemaphore(MOST)
        super().__init__(*args)

    def server_bind(self) -> None:
        """Without asking for the name of the address, which may take long."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._seats.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()


class _ServerV6(_Server):
    address_family = socket.AF_INET6


def _server_of(listen: tuple[str, int]) -> type[_Server]:
    return _ServerV6 if ":" in listen[0] else _Server
