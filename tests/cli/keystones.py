"""A Keystone that gives every right password the token "admin", and a catalogue."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

from tests.http_server import LoopbackHandler, LoopbackServer, answering

PASSWORD = "r1ght-word"
SECRET = "s3cret-of-app"
REGION = "north"


class Keystone(LoopbackServer):
    """``placement``: interface -> URL in the catalogue; ``bodies``: what was sent."""

    def __init__(self, placement: dict[str, str]) -> None:
        self.placement = placement
        self.bodies: list[Any] = []
        self.status = 201
        super().__init__(_Handler)

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


class _Handler(LoopbackHandler):
    server: Keystone

    def do_GET(self) -> None:
        link = {"rel": "self", "href": f"{self.server.url}/v3/"}
        version = {"id": "v3.14", "status": "stable", "links": [link]}
        self._answer(200, {"version": version})

    def do_POST(self) -> None:
        body = json.loads(self.body())
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
        headers = {"Content_Type": "application/json", "X_Subject_Token": "admin"}
        self.reply(status, json.dumps(document).encode(), **headers)


def keystone(placement: dict[str, str]) -> AbstractContextManager[Keystone]:
    return answering(Keystone(placement))
