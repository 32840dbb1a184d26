"""A Keystone that gives every right password the token "admin", and a catalogue."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "r1ght-word"
SECRET = "s3cret-of-app"
REGION = "north"


class Keystone(ThreadingHTTPServer):
    """``placement``: interface -> URL in the catalogue; ``bodies``: what was sent."""

    daemon_threads = True

    def __init__(self, placement: dict[str, str]) -> None:
        self.placement = placement
        self.bodies: list[Any] = []
        self.status = 201
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def token(self) -> dict[str, Any]:
        endpoints = [
            {"id": name, "interface": name, "region": REGION, "region_id": REGION}
            | {"url": url}
            for name, url in self.placement.items()
        ]
        catalogue = [{"id": "p", "type": "placement", "endpoints": endpoints}]
        return {
            "methods": ["password"],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "ann", "domain": {"id": "d", "name": "D"}},
            "catalog": catalogue if endpoints else [],
        }


class _Handler(BaseHTTPRequestHandler):
    server: Keystone

    def do_GET(self) -> None:
        link = {"rel": "self", "href": f"{self.server.url}/v3/"}
        version = {"id": "v3.14", "status": "stable", "links": [link]}
        self._answer(200, {"version": version})

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        self.server.bodies.append(body)
        if self.server.status != 201:
            self._answer(self.server.status, {"error": {"message": "not today"}})
            return
        words = json.dumps(body["auth"]["identity"])
        is_right = PASSWORD in words or SECRET in words
        said = {"error": {"code": 401, "message": "Wrong password."}}
        self._answer(
            *((201, {"token": self.server.token()}) if is_right else (401, said))
        )

    def _answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("x-subject-token", "admin")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def keystone(placement: dict[str, str]) -> Iterator[Keystone]:
    server = Keystone(placement)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
