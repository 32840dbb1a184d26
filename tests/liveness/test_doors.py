"""``gantt serve`` and ``gantt agent`` with a group, as their processes."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from gantt.client.remote import RemoteGantt
from gantt.conf import ConfigSource
from gantt.errors import NoValidHost, Unavailable
from gantt.liveness.options import CoordinationOptions
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from tests.api.wsgi_client import WsgiClient
from tests.coordinators import coordinator
from tests.live import free_port
from tests.programs import printed
from tests.waiting import until

INTERVAL = 3
START_S = 60.0
# Two pauses of the heartbeats, the thread that leads, and a busy machine.
SLACK_S = 5.0


def test_options_of_coordination_are_read(tmp_path: Path) -> None:
    file = tmp_path / "gantt.conf"
    file.write_text(
        "[coordination]\nbackend_url = redis://h:1\nheartbeat_interval = 5\n"
    )
    found = ConfigSource((str(file),)).load().coordination
    assert found == CoordinationOptions("redis://h:1", "gantt-hosts", 5)


def test_readyz_tells_a_notice_and_stays_ready() -> None:
    from gantt.api.middleware import with_health

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
            until(lambda: _is_member(books) is True, START_S)
            time.sleep(2 * INTERVAL)
            reporting.kill()
            until(lambda: _is_member(books) is False, 2 * INTERVAL + 2)
            reporting = _start(*agent, *group)
            until(lambda: _is_member(books) is True, START_S)
            server.kill()
            until(lambda: "frozen" in _readyz(address), 2 * INTERVAL + 2)
            assert _is_member(books) is True
        finally:
            for process in (reporting, serving):
                process.terminate()
                process.wait(30)


@pytest.mark.slow
def test_without_a_group_a_killed_agent_is_noticed_and_comes_back(
    tmp_path: Path,
) -> None:
    """Its heartbeats are kept in the database; it reports with the token of its host,
    and as seldom as it likes."""
    down_s = 3
    address = f"127.0.0.1:{free_port()}"
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(
        "secret-of-far: {user: far, project: hosts, roles: [host]}\n"
        "operator: {user: op, project: ops, roles: [admin, service]}\n"
    )
    file = tmp_path / "gantt.conf"
    file.write_text(
        f"[DEFAULT]\nservice_down_time = {down_s}\n"
        f"[placement_database]\nconnection = sqlite:///{tmp_path}/g.db\n"
        "sync_on_startup = true\n[api]\nauth_strategy = token\n"
        f"[gantt]\nlisten = {address}\ntokens_file = {tokens}\n"
    )
    agent = ("agent", "--url", f"http://{address}", "--host", "far", "--interval", "60")
    reporting = ("--token", "secret-of-far", *agent[1:])
    serving = _start("serve", "--config-file", str(file))
    process = serving
    try:
        books = RemoteGantt(f"http://{address}", token="operator")
        until(lambda: _is_answering(books), START_S)
        process = _start("agent", *reporting)
        until(lambda: _is_member(books) is True, START_S)
        began = time.monotonic()
        while time.monotonic() < began + 3 * down_s:
            assert _is_member(books) is True
            time.sleep(0.2)
        process.kill()
        until(lambda: _is_member(books) is False, down_s + SLACK_S)
        words = ("host", "list", "--token", "operator", "--url", f"http://{address}")
        listed = printed([sys.executable, "-m", "gantt", *words])
        assert "agent down" in listed
        with pytest.raises(NoValidHost) as refusal:
            books.schedule(_request())
        assert "ComputeFilter" in str(refusal.value.why)
        process = _start("agent", *reporting)
        until(lambda: _is_member(books) is True, START_S)
        assert books.schedule(_request())
    finally:
        for one in (process, serving):
            one.terminate()
            one.wait(30)


def _request() -> ScheduleRequest:
    uuid = "11111111-1111-4111-8111-111111111111"
    spec = RequestSpec(Flavor(vcpus=0, memory_mb=16))
    return ScheduleRequest(spec, (uuid,), dry_run=True)


def _start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "gantt", *words])


def _readyz(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/readyz", timeout=10) as answer:
        return str(answer.read().decode())


def _is_answering(books: RemoteGantt) -> bool:
    try:
        books.list_hosts()
    except Unavailable:
        return False
    return True


def _is_member(books: RemoteGantt) -> bool | None:
    try:
        found = books.list_hosts(host="far")
    except Exception:  # it is starting
        return None
    member: bool | None = None
    for one in found:
        member = one.service.get("agent", {}).get("is_member")
    return member
