"""A Neutron that answers what no Neutron should: too much, too slowly, for ever.

The request gets its answer within neutron_timeout_s, with a reason; what was begun for
it ends soon after, and takes little memory.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1 import adapter, plugin
from keystoneauth1 import session as keystone

from gantt.conf import RpcOptions, neutron_session
from gantt.openstack.routed_networks import RoutedNetworks
from tests.configured import settings_of
from tests.http_server import LoopbackHandler, LoopbackServer, answering
from tests.openstack.test_routed_networks import net, options_for, request
from tests.waiting import until

TIMEOUT_S = 0.5
THREADS = 2
MIB = 1 << 20
Play = Callable[[BaseHTTPRequestHandler, int], None]


class Hostile(LoopbackServer):
    """Answers each request as ``play`` does, which is told how many came before.
    ``open``: requests that are being answered."""

    def __init__(self, play: Play) -> None:
        super().__init__(Handler)
        self.play = play
        self.asked: list[str] = []
        self.tokens: list[str | None] = []
        self.open = 0
        self.lock = threading.Lock()


class Handler(LoopbackHandler):
    protocol_version = "HTTP/1.1"
    server: Hostile

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            number, server.open = len(server.asked), server.open + 1
            server.asked.append(self.path)
            server.tokens.append(self.headers.get("x-auth-token"))
        try:
            with contextlib.suppress(ConnectionError):
                server.play(self, number)
        finally:
            with server.lock:
                server.open -= 1

    def whole(self, document: object, status: int = 200) -> None:
        """An answer as it should be."""
        body = document if isinstance(document, bytes) else json.dumps(document)
        sent = body if isinstance(body, bytes) else body.encode()
        self.reply(status, sent)


@contextlib.contextmanager
def hostile(play: Callable[[Any, int], None]) -> Iterator[Hostile]:
    with answering(Hostile(play)) as server:
        yield server


@contextlib.contextmanager
def asking(folder: Path, server: Hostile, **more: Any) -> Iterator[RoutedNetworks]:
    options = RpcOptions(**{"neutron_timeout_s": TIMEOUT_S, **more})
    found = RoutedNetworks(options, THREADS)
    try:
        found.ask(neutron_session(settings_of(folder, options_for(server.url))))
        yield found
    finally:
        found.close()


def trouble(networks: RoutedNetworks, name: str = "n") -> str:
    (one,) = networks.with_segments(request(net(name))).spec.requested_networks
    return one.trouble


def endless(handler: Handler, _number: int) -> None:
    """White space without end, as fast as it is read."""
    handler.begin(Content_Type="application/json")
    while True:
        handler.wfile.write(b" " * MIB)


def endless_chunks(handler: Handler, _number: int) -> None:
    handler.begin(Transfer_Encoding="chunked", Content_Type="application/json")
    while True:
        handler.wfile.write(b"%x\r\n%s\r\n" % (MIB, b" " * MIB))


def bomb(handler: Handler, _number: int) -> None:
    """Little that becomes 256 MiB."""
    gzip = zlib.compressobj(1, wbits=31)
    body = b"".join(gzip.compress(b" " * MIB) for _ in range(256)) + gzip.flush()
    handler.begin(Content_Length=len(body), Content_Encoding="gzip")
    handler.wfile.write(body)


def drops(handler: Handler, _number: int) -> None:
    """A byte now and then: each in time."""
    handler.begin(Content_Length=1_000_000)
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.05)


def dripping_chunks(handler: Handler, _number: int) -> None:
    handler.begin(Transfer_Encoding="chunked")
    while True:
        handler.wfile.write(b"1\r\n \r\n")
        time.sleep(0.05)


def pages(handler: Handler, number: int) -> None:
    """There is always a next one."""
    subnets = [{"id": f"{number}", "segment_id": f"s{number}"}]
    handler.whole({"subnets": subnets, "subnets_links": [{"rel": "next"}]})


def loop(handler: Handler, _number: int) -> None:
    """Sent to where it was sent."""
    handler.begin(302, Location=handler.server.url + handler.path, Content_Length=0)


@pytest.mark.parametrize(
    "play", [endless, endless_chunks, bomb, drops, dripping_chunks, pages, loop]
)
def test_no_answer_takes_more_than_its_share(tmp_path: Path, play: Any) -> None:
    with hostile(play) as server, asking(tmp_path, server) as networks:
        tracemalloc.start()
        try:
            began = time.monotonic()
            assert trouble(networks).startswith("Neutron did not answer")
            took_s = time.monotonic() - began
            # What the look-up began ends too: its threads are needed.
            until(lambda: server.open == 0, 5)
            both = threading.Barrier(THREADS)
            for one in [networks._pool.submit(both.wait, 5) for _ in range(THREADS)]:
                one.result()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert took_s < 4 * TIMEOUT_S
        assert peak < 64 * MIB
        came = len(server.asked)
        time.sleep(0.2)
        assert len(server.asked) == came


def test_an_answer_of_the_limit_is_read_and_a_longer_one_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = json.dumps({"subnets": [{"id": "x", "segment_id": "s1"}]}).encode()
    sizes = iter([10_000, 10_001])

    def play(handler: Handler, _number: int) -> None:
        handler.whole(text.ljust(next(sizes)))

    with (
        hostile(play) as server,
        asking(tmp_path, server, neutron_answer_size_limit=10_000) as networks,
    ):
        assert trouble(networks, "short") == ""
        assert trouble(networks, "long").startswith("Neutron did not answer")
    assert "more than 10000 bytes" in caplog.text
    assert "neutron_answer_size_limit of [scheduler]" in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"subnets": 7}',
        b"<html>",
        b'{"subnets": [7]}',
        b'{"subnets": [{"id": "a", "segment_id": "%s"}]}' % (b"s" * 5_000),
        b'{"subnets": [], "subnets_links": "next"}',
        b'{"subnets":' + b"[" * 200_000,
        b'{"subnets": [{"id": "a", "segment_id": "\\ud800"}]}',
    ],
    ids=range(12),
)
def test_garbage_is_a_named_reason(tmp_path: Path, body: bytes) -> None:
    def play(handler: Handler, _number: int) -> None:
        handler.whole(body)

    with hostile(play) as server, asking(tmp_path, server) as networks:
        assert trouble(networks).startswith("Neutron did not answer")
        assert networks.counts()["neutron_answers"] == 0


@pytest.mark.parametrize("status", [100, 204, 206, 300, 304, 418, 599])
def test_odd_statuses_are_a_named_reason(tmp_path: Path, status: int) -> None:
    def play(handler: Handler, _number: int) -> None:
        handler.whole({"subnets": []}, status)

    with hostile(play) as server, asking(tmp_path, server) as networks:
        assert trouble(networks).startswith("Neutron did not answer")


class Token(plugin.BaseAuthPlugin):
    """A new token whenever the last was refused."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.made = 0

    def get_token(self, session: Any, **_: Any) -> str:
        return f"token{self.made}"

    def get_endpoint(self, session: Any, **_: Any) -> str:
        return self.url

    def invalidate(self) -> bool:
        self.made += 1
        return True


def test_a_token_that_was_revoked_is_renewed(tmp_path: Path) -> None:
    def play(handler: Handler, number: int) -> None:
        subnets = [{"id": "x", "segment_id": "s1"}]
        handler.whole({"subnets": subnets}, 401 if number == 0 else 200)

    with hostile(play) as server, asking(tmp_path, server) as networks:
        session = keystone.Session(auth=Token(server.url))
        networks.ask(adapter.Adapter(session, service_type="network"))
        assert trouble(networks) == ""
        assert server.tokens == ["token0", "token1"]


def test_a_redirect_is_followed(tmp_path: Path) -> None:
    def play(handler: Handler, number: int) -> None:
        if number == 0:
            handler.begin(
                307, Location=handler.server.url + handler.path, Content_Length=0
            )
        else:
            handler.whole({"subnets": [{"id": "x", "segment_id": "s1"}]})

    with hostile(play) as server, asking(tmp_path, server) as networks:
        assert trouble(networks) == ""
        assert len(server.asked) == 2
