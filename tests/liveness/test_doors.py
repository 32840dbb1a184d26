"""``gantt serve`` and ``gantt agent`` with a group, as their processes."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from gantt.client.remote import RemoteGantt
from gantt.conf import Source
from gantt.liveness.options import CoordinationOptions
from tests.api.wsgi_client import WsgiClient
from tests.coordinators import coordinator
from tests.live import free_port

INTERVAL = 3
START_S = 60.0


def test_options_of_coordination_are_read(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(
        "[coordination]\nbackend_url = redis://h:1\nheartbeat_interval = 5\n"
    )
    found = Source((str(file),)).load().coordination
    assert found == CoordinationOptions("redis://h:1", "gantt-hosts", 5)


def test_readyz_tells_a_notice_and_stays_ready() -> None:
    from gantt.api.hosting.middleware import with_health

    said = [""]
    client = WsgiClient(with_health(lambda *_: [], lambda: "", lambda: said[0]))
    assert client("GET", "/readyz").body == b"OK"
    said[0] = "liveness is frozen"
    answer = client("GET", "/readyz")
    assert (answer.status, answer.body) == (200, b"OK: liveness is frozen")
    assert client("GET", "/livez").body == b"OK"


@pytest.mark.slow
@pytest.mark.server("redis")
def test_an_agent_that_is_killed_is_noticed(tmp_path: Path) -> None:
    with coordinator("redis") as server:
        address = f"127.0.0.1:{free_port()}"
        backend = server.url(server.port)
        file = tmp_path / "gantt.conf"
        file.write_text(
            f"[placement_database]\nconnection = sqlite:///{tmp_path}/g.db\n"
            "sync_on_startup = true\n[api]\nauth_strategy = noauth2\n"
            f"[gantt]\nlisten = {address}\n[coordination]\n"
            f"backend_url = {backend}\nheartbeat_interval = {INTERVAL}\n"
        )
        agent = ("agent", "--url", f"http://{address}", "--host", "far")
        group = ("--coordination", backend, "--heartbeat", str(INTERVAL))
        serving = _start("serve", "--config-file", str(file))
        reporting = _start(*agent, *group)
        try:
            books = RemoteGantt(f"http://{address}", token="admin")
            _wait(lambda: _is_member(books) is True, START_S)
            time.sleep(2 * INTERVAL)
            reporting.kill()
            _wait(lambda: _is_member(books) is False, 2 * INTERVAL + 2)
            reporting = _start(*agent, *group)
            _wait(lambda: _is_member(books) is True, START_S)
            server.kill()
            _wait(lambda: "frozen" in _readyz(address), 2 * INTERVAL + 2)
            assert _is_member(books) is True
        finally:
            for process in (reporting, serving):
                process.terminate()
                process.wait(30)


def _start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "gantt", *words])


def _readyz(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/readyz", timeout=10) as answer:
        return str(answer.read().decode())


def _is_member(books: RemoteGantt) -> bool | None:
    try:
        found = books.list_hosts(host="far")
    except Exception:  # it is starting
        return None
    member: bool | None = None
    for one in found:
        member = one.service.get("agent", {}).get("is_member")
    return member


def _wait(is_so: Callable[[], bool], within: float) -> None:
    give_up = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.1)
