"""A stand-in for Neutron: every collection is empty, nothing can be made.

Nova asks for the ports even of servers made with ``networks: none``.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

VERSIONS = {"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]}


class Handler(BaseHTTPRequestHandler):
    """``GET /v2.0/ports`` is ``{"ports": []}``, and so on."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = [part for part in urlsplit(self.path).path.split("/") if part]
        if len(parts) < 2:
            self._answer(200, VERSIONS)
        elif len(parts) == 2:
            name = parts[1].removesuffix(".json").replace("-", "_")
            self._answer(200, {name: []})
        else:
            self._refuse()

    def do_POST(self) -> None:
        self._refuse()

    do_PUT = do_DELETE = do_POST  # noqa: N815

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(
            404,
            {"NeutronError": {"type": "NotFound", "message": self.path, "detail": ""}},
        )

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: Nova asks all the time."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
