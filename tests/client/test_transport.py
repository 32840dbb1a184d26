"""Sockets: reused, shared between threads, lost; and the errors then."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest

from gantt import errors
from gantt.client.remote import RemoteGantt
from gantt.client.transport import SessionTransport, SocketTransport
from tests.http_server import LoopbackHandler, LoopbackServer, answering
from tests.live import free_port

LARGE = bytes(range(256)) * 1_000


class Server(LoopbackServer):
    """Answers everything, and counts connections; drops them when told to."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.connections = 0
        self.requests: list[tuple[str, str, str]] = []
        self.drop_next = False

    def get_request(self) -> tuple[socket.socket, Any]:
        self.connections += 1
        return super().get_request()


class Handler(LoopbackHandler):
    """Keep-alive; ``/close`` ends the connection after its answer, unannounced."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        token = self.headers.get("x-auth-token", "")
        self.body()
        self.server.requests.append((self.command, self.path, token))
        if self.server.drop_next:
            self.server.drop_next = False
            self.close_connection = True
            return
        body = LARGE if self.path.startswith("/large") else b"{}"
        self.reply(503 if self.path.endswith("/503") else 200, body)
        self.close_connection = self.path.endswith("/close")

    do_PUT = do_GET  # noqa: N815 - the name that http.server looks for


@pytest.fixture
def server() -> Iterator[Server]:
    with answering(Server()) as found:
        yield found


@pytest.fixture
def transport(server: Server) -> Iterator[SocketTransport]:
    found = SocketTransport(server.url + "/placement/", token="t", timeout_s=5.0)
    yield found
    found.close()


def send(transport: SocketTransport, method: str = "GET", path: str = "/x") -> int:
    return transport.send(method, path, headers={}, body=None).status


def test_connections_are_reused(server: Server, transport: SocketTransport) -> None:
    for _ in range(5):
        assert send(transport) == 200
    assert server.connections == 1
    assert server.requests[0] == ("GET", "/placement/x", "t")


def test_closed_idle_connection_is_replaced(
    server: Server, transport: SocketTransport
) -> None:
    send(transport, path="/close")
    (connection,) = transport._idle
    connection.sock.recv(1, socket.MSG_PEEK)  # wait for the end to arrive
    assert send(transport, "PUT") == 200
    assert server.connections == 2


def test_read_on_a_dropped_connection_is_retried(
    server: Server, transport: SocketTransport
) -> None:
    send(transport)
    server.drop_next = True
    assert send(transport) == 200
    assert [method for method, _, _ in server.requests] == ["GET"] * 3


def test_write_on_a_dropped_connection_is_not_retried(
    server: Server, transport: SocketTransport
) -> None:
    send(transport)
    server.drop_next = True
    with pytest.raises(errors.Unavailable, match="may have been made: check"):
        send(transport, "PUT")
    assert [method for method, _, _ in server.requests] == ["GET", "PUT"]


def test_transport_is_thread_safe(server: Server, transport: SocketTransport) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: send(transport), range(200)))
    assert set(found) == {200}
    assert server.connections <= 8


def test_connection_refused() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    transport = SocketTransport(url, token="t", timeout_s=5.0)
    with pytest.raises(errors.Unavailable, match=url) as caught:
        send(transport, "PUT")
    assert "may have been made" not in str(caught.value)
    assert "gantt serve" in str(caught.value)


def test_silent_service_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = SocketTransport(url, token="t", timeout_s=0.05)
        with pytest.raises(errors.Unavailable, match=r"within 0\.05 s"):
            send(transport)


def test_service_that_does_not_speak_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with listener.accept()[0] as peer:
                peer.recv(1000)
                peer.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = SocketTransport(url, token="t", timeout_s=5.0)
        with pytest.raises(errors.Unavailable, match=url):
            send(transport)
        thread.join()


@pytest.mark.parametrize("url", ["http://", "host:1", "http://h:port", "ftp://h"])
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(errors.Invalid):
        RemoteGantt(url)


class Session:
    """Has the interface of a keystoneauth session."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.sent: dict[str, Any] = {}

    def request(self, path: str, method: str, **options: Any) -> Any:
        self.sent = {"path": path, "method": method, **options}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_session_authenticates_by_itself() -> None:
    body = b'{"resource_classes": [{"name": "VCPU"}]}'
    session = Session(SimpleNamespace(status_code=200, headers={}, content=body))
    remote = RemoteGantt("http://h/placement/", session=session)
    assert [each.name for each in remote.list_resource_classes()] == ["VCPU"]
    assert session.sent["path"] == "/resource_classes"
    assert session.sent["endpoint_override"] == "http://h/placement"
    assert "x-auth-token" not in session.sent["headers"]
    assert session.sent["raise_exc"] is False
    remote.close()


def test_session_finds_the_endpoint_without_a_url() -> None:
    session = Session(SimpleNamespace(status_code=200, headers={}, content=b"{}"))
    SessionTransport(session, "", timeout_s=1.0).send("GET", "/", headers={}, body=b"x")
    assert session.sent["endpoint_filter"] == {"service_type": "placement"}
    assert session.sent["data"] == b"x"


def test_session_failures() -> None:
    unknown: Any = Exception("who?")
    unknown.http_status = 401
    for failure, kind in (
        (unknown, errors.Forbidden),
        (OSError("no route"), errors.Unavailable),
    ):
        remote = RemoteGantt("http://h", session=Session(failure))
        with pytest.raises(kind, match="http://h"):
            remote.list_resource_classes()


# -- into a file ----------------------------------------------------------------------


class Parts(BytesIO):
    """A file that notes how much is written at once; ``full``: it takes no more."""

    def __init__(self, full: bool = False) -> None:
        super().__init__(b"of an attempt before")
        self.sizes: list[int] = []
        self._full = full

    def write(self, part: Any) -> int:
        self.sizes.append(len(part))
        if self._full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(part)


def of_session(status: int) -> SessionTransport:
    parts = [LARGE[at : at + 65_536] for at in range(0, len(LARGE), 65_536)]
    answer = SimpleNamespace(
        status_code=status,
        headers={},
        content=LARGE,
        iter_content=lambda _size: iter(parts),
        close=lambda: None,
    )
    return SessionTransport(Session(answer), "http://h", timeout_s=5.0)


@pytest.mark.parametrize("kind", ["sockets", "a session"])
def test_a_large_answer_is_never_held_as_a_whole(server: Server, kind: str) -> None:
    sockets = SocketTransport(server.url, token="t", timeout_s=5.0)
    transport = sockets if kind == "sockets" else of_session(200)
    for _ in range(2):
        into = Parts()
        reply = transport.send("GET", "/large", headers={}, body=None, into=into)
        assert (reply.status, reply.body) == (200, b"")
        assert into.getvalue() == LARGE
        assert max(into.sizes) <= 65_536 < len(LARGE)
    assert server.connections == (kind == "sockets")
    with pytest.raises(errors.Unavailable, match="No space left on device. TMPDIR"):
        transport.send("GET", "/large", headers={}, body=None, into=Parts(full=True))
    sockets.close()


@pytest.mark.parametrize("kind", ["sockets", "a session"])
def test_a_refusal_is_no_part_of_the_file(server: Server, kind: str) -> None:
    sockets = SocketTransport(server.url, token="t", timeout_s=5.0)
    transport = sockets if kind == "sockets" else of_session(503)
    into = Parts()
    reply = transport.send("GET", "/large/503", headers={}, body=None, into=into)
    assert (reply.status, reply.body, into.sizes) == (503, LARGE, [])
    sockets.close()
