"""No client makes others wait, whatever it sends or does not read."""

from __future__ import annotations

import json
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from tests.live import Live, served
from tests.waiting import until

ADMIN = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
HEAD = "".join(f"{name}: {value}\r\n" for name, value in ADMIN.items())
POST = (
    "POST /resource_classes HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n"
)
REPORT = POST.replace("POST /resource_classes", "PUT /gantt/hosts/a/b")
DRAIN_S = 20
WAIT_S = 30.0

Start = Callable[..., Live]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running = []

    def begin(**options: object) -> Live:
        config = tmp_path / "gantt.conf"
        lines = [f"{name} = {value}" for name, value in options.items()]
        config.write_text("\n".join(["[gantt]", f"drain_s = {DRAIN_S}", *lines]))
        context = served(tmp_path, options=("--config-file", str(config)))
        running.append(context)
        return context.__enter__()

    yield begin
    for context in running:
        context.__exit__(None, None, None)


def address(live: Live) -> tuple[str, int]:
    host, _, port = live.url.removeprefix("http://").partition(":")
    return host, int(port)


def sent(live: Live, head: str, body: bytes = b"", caller: str = HEAD) -> socket.socket:
    """A connection on which so much of a request was sent."""
    found = socket.create_connection(address(live), timeout=WAIT_S)
    found.sendall(f"{head}{caller}\r\n".encode() + body)
    return found


def slow(live: Live, head: str = POST, caller: str = HEAD) -> socket.socket:
    return sent(live, f"{head}content-length: 1000\r\n", b"{", caller)


def heard(connection: socket.socket) -> HTTPResponse:
    answer = HTTPResponse(connection)
    answer.begin()
    return answer


def get(live: Live, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(*address(live), timeout=WAIT_S)
    try:
        connection.request("GET", path, headers=ADMIN)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def refused(live: Live, reason: str) -> float:
    text = get(live, "/metrics")[1].decode()
    line = rf'^gantt_requests_refused_total{{reason="{reason}"}} (\S+)$'
    return sum(map(float, re.findall(line, text, re.MULTILINE)))


def test_slow_bodies_time_out_and_hold_no_thread(start: Start) -> None:
    live = start(blocking_threads=2, body_timeout_s=6)
    member = HEAD.replace("admin", "bob:blue\r\nx-roles: member")
    admins, members = [slow(live) for _ in range(8)], [slow(live, REPORT, member)]
    for path in ("/livez", "/readyz", "/metrics", "/resource_classes") * 3:
        assert get(live, path)[0] == 200
    # All of these were answered before the first body was given up.
    assert select.select([*admins, *members], [], [], 0)[0] == []
    for connection in admins:
        answer = heard(connection)
        assert (answer.status, answer.getheader("connection")) == (408, "close")
        (error,) = json.loads(answer.read())["errors"]
        assert "did not arrive within 6 s" in error["detail"]
        assert connection.recv(1) == b""
    # Unauthorized callers get 401 or 403, whatever became of the body.
    assert heard(members[0]).status == 403
    until(lambda: refused(live, "body_too_slow") == 9)


@pytest.mark.parametrize("form", ["length", "chunked"])
def test_client_that_keeps_sending_gets_the_answer(start: Start, form: str) -> None:
    live = start(max_body_bytes=100_000)
    if form == "length":
        # Refused before any of it is read, so that 64 kB are drained in all.
        head, piece, pieces = "content-length: 50000000\r\n", b"x" * 10_000, 6
    else:
        # Refused when more than is allowed has been read; the rest is drained.
        pieces = 12
        head = "transfer-encoding: chunked\r\n"
        piece = b"%x\r\n" % 10_000 + b"x" * 10_000 + b"\r\n"
    connection = sent(live, POST + head)
    for _ in range(pieces):
        connection.sendall(piece)
    answer = heard(connection)
    assert (answer.status, answer.getheader("connection")) == (413, "close")
    assert b"at most 100000 bytes" in answer.read()
    with pytest.raises(OSError, match=r"reset|[Pp]ipe"):
        while True:
            connection.sendall(piece)
    until(lambda: refused(live, "body_too_long") == 1)


def held(live: Live, count: int) -> None:
    """Wait until large bodies have so many bytes."""
    line = f"gantt_bodies_reading_bytes {float(count)}".encode()
    until(lambda: line in get(live, "/metrics")[1])


def test_oldest_unfinished_body_makes_room(start: Start) -> None:
    live = start(max_body_bytes=100_000, bodies_bytes=1024)
    head = f"{POST}content-length: 90000\r\n"
    first = sent(live, head, b"x" * 80_000)
    held(live, 80_000)
    second = sent(live, head, b"x" * 60_000)
    answer = heard(first)
    assert (answer.status, answer.getheader("retry-after")) == (503, "1")
    assert b"and all are in use" in answer.read()
    held(live, 60_000)
    second.sendall(b"x" * 30_000)
    assert heard(second).status == 400
    held(live, 0)
    assert refused(live, "bodies_full") == 1


def test_small_bodies_are_not_counted(start: Start) -> None:
    live = start(max_body_bytes=10_000, bodies_bytes=1024)
    large = sent(live, f"{POST}content-length: 10000\r\n", b"x" * 9_999)
    held(live, 10_000)
    for form in ("content-length: 8192\r\n", "transfer-encoding: chunked\r\n"):
        body = b'{"name": "CUSTOM_X"}'.ljust(8192)
        if "chunked" in form:
            body = b"2000\r\n" + body + b"\r\n0\r\n\r\n"
        assert heard(sent(live, POST + form, body)).status in (201, 409)
    held(live, 10_000)
    large.sendall(b"x")
    assert heard(large).status == 400


CUT = {
    "small": ("content-length: 100\r\n", b"{"),
    "large": ("content-length: 100000\r\n", b"{" * 50_000),
    "chunked": ("transfer-encoding: chunked\r\n", b"1\r\n{\r\n"),
    "large chunked": (
        "transfer-encoding: chunked\r\n",
        b"c350\r\n" + b"{" * 50_000 + b"\r\n",
    ),
}


@pytest.mark.parametrize("form", CUT)
def test_clients_that_leave_within_a_body_are_not_errors(
    start: Start, form: str
) -> None:
    live = start(max_body_bytes=1_000_000)
    head, body = CUT[form]
    connections = [sent(live, POST + head, body) for _ in range(20)]
    until(lambda: b"gantt_bodies_reading 20.0" in get(live, "/metrics")[1])
    for connection in connections:
        connection.close()
    until(lambda: b"gantt_bodies_reading 0.0" in get(live, "/metrics")[1])
    held(live, 0)
    log = live.log.read_text()
    assert "Traceback" not in log
    assert "ERROR" not in log


def test_length_of_thousands_of_digits_is_refused(start: Start) -> None:
    live = start()
    length = f"content-length: {'0' * 4400}3\r\n"
    assert heard(sent(live, POST + length, b"{ }")).status == 400


def test_cut_off_chunked_body_has_no_effect(start: Start) -> None:
    live = start()
    head = POST + "transfer-encoding: chunked\r\n"
    one = b'16\r\n{"name": "CUSTOM_%s"}\r\n'
    cut = sent(live, head, one % b"CUT")
    until(lambda: b"gantt_bodies_reading 1.0" in get(live, "/metrics")[1])
    cut.shutdown(socket.SHUT_WR)
    answer = heard(cut)
    assert (answer.status, answer.getheader("connection")) == (400, "close")
    assert heard(sent(live, head, one % b"END" + b"0\r\n\r\n")).status == 201
    assert get(live, "/resource_classes/CUSTOM_CUT")[0] == 404


def test_flood_of_probes_is_answered_and_not_logged(start: Start) -> None:
    live = start()
    lines = "".join(
        f"{method} {path} HTTP/1.1\r\nhost: h\r\n{close}\r\n"
        for method, path, close in [
            ("GET", "/readyz", ""),
            ("HEAD", "/healthcheck", ""),
            ("GET", "/readyz", "connection: close\r\n"),
        ]
    ).encode()
    connections = [socket.create_connection(address(live)) for _ in range(100)]
    for connection in connections:
        connection.sendall(lines)
    for connection in connections:
        text = connection.makefile("rb").read()
        assert text.count(b"HTTP/1.1 200 OK") == 3
        assert text.count(b"\r\n\r\nOK") == 2
    get(live, "/traits/CUSTOM_LAST")
    until(lambda: "/traits/CUSTOM_LAST" in live.log.read_text())
    assert not re.search("readyz|healthcheck", live.log.read_text())


def test_health_has_its_own_thread_and_full_queue_is_503(
    start: Start,
) -> None:
    live = start(blocking_threads=1, waiting_requests=1)
    look = "GET /resource_classes HTTP/1.1\r\nhost: h\r\n"
    sent(live, "GET /gantt/watch?wait=60 HTTP/1.1\r\nhost: h\r\n")
    until(lambda: b"\ngantt_watchers 1.0" in get(live, "/metrics")[1])
    waits = sent(live, look)
    until(lambda: b"gantt_requests_waiting 1.0" in get(live, "/metrics")[1])
    answer = heard(sent(live, look))
    assert (answer.status, answer.getheader("retry-after")) == (503, "1")
    assert b"waiting_requests" in answer.read()
    assert refused(live, "queue_full") == 1
    for path in ("/livez", "/readyz", "/healthcheck", "/placement/livez"):
        assert get(live, path) == (200, b"OK")
    # Searches have threads of their own.
    assert get(live, "/allocation_candidates?resources=VCPU:1")[0] == 200
    waits.settimeout(0.2)
    with pytest.raises(TimeoutError):
        waits.recv(1)


def test_health_does_not_wait_for_a_body(start: Start) -> None:
    live = start(body_timeout_s=60)
    for path in ("/livez", "/readyz"):
        head = f"GET {path} HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n"
        answer = heard(sent(live, head, b"{"))
        assert (answer.status, answer.getheader("connection")) == (200, "close")


def test_connection_survives_a_refused_whole_body(start: Start) -> None:
    live = start()
    connection = HTTPConnection(*address(live), timeout=WAIT_S)
    body = b'{"a": "%s"}' % (b"x" * 300_000)
    for target, status in [("/gantt/nothing", 404), ("/traits", 405)] * 20:
        headers = {**ADMIN, "content-type": "application/json"}
        connection.request("PUT", target, body, headers)
        kept = connection.sock
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.getheader("connection")) == (status, None)
        assert connection.sock is kept


def test_sigterm_does_not_wait_for_clients(start: Start) -> None:
    live = start(body_timeout_s=600)
    bodies = [slow(live) for _ in range(8)]
    heads = [socket.create_connection(address(live)) for _ in range(2)]
    for connection in heads:
        connection.sendall(b"GET / HT")
    until(lambda: b"gantt_bodies_reading 8.0" in get(live, "/metrics")[1])
    began = time.monotonic()
    assert live.stop() == 0
    assert time.monotonic() - began < DRAIN_S / 2
    for connection in bodies:
        answer = heard(connection)
        assert (answer.status, answer.getheader("connection")) == (503, "close")
        assert b"The service is stopping" in answer.read()
