"""A stand-in for Neutron: ports, subnets and segments that are given; nothing can be
made.

Nova asks for the ports even of servers made with ``networks: none``: as a program this
has none, and every collection is empty.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.http_server import LoopbackHandler, LoopbackServer, answering

VERSIONS = {"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]}
SEGMENTS = {"alias": "segment", "name": "Segment"}
Item = dict[str, Any]


class Neutron(LoopbackServer):
    """``content``: the items of each collection, by its name. ``page``: how many an
    answer has at most. ``asked``: the paths of all requests. ``status``: what all are
    answered with unless it is 200; ``may_answer``: cleared, none is answered.
    ``drops``: so many connections are closed instead; ``dribble_s``: seconds after
    each 256 bytes of an answer."""

    def __init__(
        self, port: int = 0, content: Mapping[str, Sequence[Item]] | None = None
    ) -> None:
        super().__init__(Handler, port)
        self.content = {"extensions": [SEGMENTS], **(content or {})}
        self.page = 1_000
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.drops = 0
        self.dribble_s = 0.0
        self.may_answer = threading.Event()
        self.may_answer.set()


class Handler(LoopbackHandler):
    """``GET /v2.0/ports`` is ``{"ports": []}``, and so on."""

    protocol_version = "HTTP/1.1"
    server: Neutron

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append(dict(self.headers))
        self.server.may_answer.wait()
        if self.server.drops:
            self.server.drops -= 1
            self.close_connection = True
            return
        if self.server.status != 200:
            self._answer(self.server.status, {})
            return
        parts = [part for part in urlsplit(self.path).path.split("/") if part]
        if len(parts) < 2:
            self._answer(200, VERSIONS)
        elif len(parts) == 2:
            self._list(parts[1].removesuffix(".json").replace("-", "_"))
        else:
            self._show(parts[1], parts[2].removesuffix(".json"))

    def _list(self, name: str) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        items = [
            item
            for item in self.server.content.get(name, ())
            if all(item[key] in asked[key] for key in asked.keys() & item.keys())
        ]
        ids = [item.get("id") for item in items]
        start = ids.index(asked["marker"][0]) + 1 if "marker" in asked else 0
        page = items[start : start + self.server.page]
        document: Item = {name: [_fields(item, asked) for item in page]}
        if start + len(page) < len(items):
            link = f"{self.server.url}{self.path}&marker={page[-1]['id']}"
            document[f"{name}_links"] = [{"rel": "next", "href": link}]
        self._answer(200, document)

    def _show(self, name: str, uuid: str) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        for item in self.server.content.get(name, ()):
            if item.get("id") == uuid or item.get("alias") == uuid:
                self._answer(200, {name.removesuffix("s"): _fields(item, asked)})
                return
        self._refuse()

    def do_POST(self) -> None:
        self._refuse()

    do_PUT = do_DELETE = do_POST  # noqa: N815

    def _refuse(self) -> None:
        self.body()
        self._answer(
            404,
            {"NeutronError": {"type": "NotFound", "message": self.path, "detail": ""}},
        )

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        with contextlib.suppress(ConnectionError):  # the caller has gone
            headers = {"Content_Type": "application/json"}
            self.begin(status, Content_Length=len(body), **headers)
            size = 256 if self.server.dribble_s else len(body)
            for start in range(0, len(body), size):
                self.wfile.write(body[start : start + size])
                time.sleep(self.server.dribble_s)


def _fields(item: Item, asked: Mapping[str, Sequence[str]]) -> Item:
    wanted = asked.get("fields", item.keys())
    return {key: value for key, value in item.items() if key in wanted}


@contextlib.contextmanager
def neutron(**content: Sequence[Item]) -> Iterator[Neutron]:
    """One that runs in this process."""
    with answering(Neutron(0, content)) as server:
        try:
            yield server
        finally:
            server.may_answer.set()


if __name__ == "__main__":
    only_ports = Neutron(int(sys.argv[1]))
    only_ports.content = {}
    only_ports.serve_forever()
