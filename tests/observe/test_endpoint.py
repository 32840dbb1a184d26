"""The small server for monitoring: what it answers, and what it bears."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from gantt.errors import Refused
from gantt.observe.endpoint import MOST, MonitoringServer, answering


class Program:
    def __init__(self) -> None:
        self.reason = ""
        self.told = ""

    def metrics(self) -> bytes:
        if self.reason == "broken":
            raise ValueError(self.reason)
        return b"gantt_up 1.0\n"

    def unready(self) -> str:
        return self.reason

    def notice(self) -> str:
        return self.told


@pytest.fixture
def program() -> Program:
    return Program()


@pytest.fixture
def endpoint(program: Program) -> Iterator[MonitoringServer]:
    found = MonitoringServer(("127.0.0.1", 0), program)
    yield found
    found.close()


def get(
    endpoint: MonitoringServer, path: str, method: str = "GET"
) -> tuple[int, bytes]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{endpoint.port}{path}", method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_it_answers_for_the_program(
    endpoint: MonitoringServer, program: Program
) -> None:
    assert get(endpoint, "/metrics") == (200, b"gantt_up 1.0\n")
    assert get(endpoint, "/livez") == (200, b"OK")
    assert get(endpoint, "/readyz?verbose") == (200, b"OK")
    assert get(endpoint, "/readyz", "HEAD") == (200, b"")
    program.told = "liveness is frozen"
    assert get(endpoint, "/readyz") == (200, b"OK: liveness is frozen")
    program.reason = "draining"
    assert get(endpoint, "/readyz") == (503, b"NOT READY: draining")
    assert get(endpoint, "/livez") == (200, b"OK")
    assert get(endpoint, "/")[0] == 404
    assert get(endpoint, "/metrics", "POST")[0] == 501


def test_a_fault_is_an_answer_without_its_text(
    endpoint: MonitoringServer, program: Program
) -> None:
    program.reason = "broken"
    status, body = get(endpoint, "/metrics")
    assert status == 500 and b"broken" not in body


def test_silent_clients_get_no_more_than_their_threads(
    endpoint: MonitoringServer,
) -> None:
    address = ("127.0.0.1", endpoint.port)
    silent = [socket.create_connection(address) for _ in range(MOST)]
    try:
        with socket.create_connection(address, timeout=10) as further:
            assert further.recv(1) == b""
    finally:
        for one in silent:
            one.close()


def test_an_address_in_use_is_refused(
    endpoint: MonitoringServer, program: Program
) -> None:
    with (
        pytest.raises(Refused, match="metrics_listen"),
        answering(f"127.0.0.1:{endpoint.port}", program),
    ):
        pass


def test_no_address_needs_no_server(program: Program) -> None:
    with answering("", program):
        pass
    with (
        pytest.raises(Refused, match="HOST:PORT|must look like"),
        answering("9000", program),
    ):
        pass
