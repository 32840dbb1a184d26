"""HTTP servers on loopback, answered by threads of this process: stand-ins for what
Gantt asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import TypeVar

Server = TypeVar("Server", bound=HTTPServer)


class LoopbackServer(ThreadingHTTPServer):
    """A thread per connection; a port of 0: any."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class LoopbackHandler(BaseHTTPRequestHandler):
    """Keeps no log."""

    def log_message(self, *args: object) -> None:
        pass

    def body(self) -> bytes:
        """What was sent with the request."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.begin(status, Content_Length=len(body), **headers)
        self.wfile.write(body)

    def begin(self, status: int = 200, **headers: object) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()


@contextmanager
def answering(server: Server) -> Iterator[Server]:
    """The server while it answers."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
