"""Checks before the server listens, and the server as a process."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gantt.api.hosting.server import check_bind, check_database, check_port, is_loopback
from gantt.conf import AuthOptions, ServeOptions, Settings, load
from gantt.errors import Refused
from gantt.store import schema
from tests.live import free_port

MAIN = """
import sys
from gantt.api.hosting.server import serve
from gantt.conf import ConfigSource
from gantt.errors import Refused
url, listen = sys.argv[1:]
try:
    serve(ConfigSource(overrides=(
        ("placement_database", "connection", url),
        ("gantt", "listen", listen),
        ("api", "auth_strategy", "noauth2"),
    )))
except Refused as error:
    sys.exit(f"refused: {error}")
"""


def settings(host: str = "127.0.0.1", **changes: Any) -> Settings:
    found = load(environ={})
    serve = replace(found.serve, host=host, **changes)
    return replace(found, serve=serve, auth=AuthOptions("noauth2"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_noauth2_may_listen_on_loopback(host: str) -> None:
    assert is_loopback(host)
    check_bind(settings(host))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "192.0.2.1", "::", "no-such.invalid", "..", "a" * 70 + ".x"]
)
def test_noauth2_may_not_listen_on_other_addresses(host: str) -> None:
    with pytest.raises(Refused, match="allow_insecure_bind"):
        check_bind(settings(host))
    check_bind(settings(host, allow_insecure_bind=True))
    check_bind(replace(settings(host), auth=AuthOptions("keystone")))


@pytest.mark.parametrize(
    ("url", "workers"), [("", 1), ("memory://", 2), ("http://127.0.0.1:8778", 1)]
)
def test_database_that_workers_cannot_share_is_refused(url: str, workers: int) -> None:
    found = replace(settings(workers=workers), database_url=url)
    with pytest.raises(Refused):
        check_database(found)


def test_port_in_use_is_refused_even_if_shareable() -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Refused, match="the port is taken"):
            check_port(ServeOptions(port=port))
    check_port(ServeOptions(port=port))


def test_foreign_address_is_refused() -> None:
    with pytest.raises(Refused, match=r"192\.0\.2\.1"):
        check_port(ServeOptions(host="192.0.2.1"))
    with pytest.raises(Refused, match="Cannot listen"):
        check_port(ServeOptions(host="a" * 70 + ".x"))


LIMITS = """
import resource
from gantt.api.hosting.server import _allow_open_files
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
for wanted in (96, 32, 10**5):
    _allow_open_files(wanted)
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], end=" ")
"""


def test_limit_of_open_files_is_raised() -> None:
    told = subprocess.check_output([sys.executable, "-c", LIMITS], text=True).split()
    assert told[:2] == ["96", "96"]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert int(told[2]) == (
        10**5 if hard == resource.RLIM_INFINITY else min(10**5, hard)
    )


class Server:
    """A ``serve`` in a process of its own."""

    def __init__(self, url: str, port: int, log: Path) -> None:
        self.root = f"http://127.0.0.1:{port}"
        environ = {**os.environ, "OS_GANTT_CONFIG_DIR": "/nowhere"}
        environ.pop("OS_PLACEMENT_CONFIG_DIR", None)
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", MAIN, url, f"127.0.0.1:{port}"],
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environ,
            )

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        headers = {
            "X-Auth-Token": "admin",
            "OpenStack-API-Version": "placement latest",
        }
        request = urllib.request.Request(
            self.root + path, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def wait_ready(self) -> None:
        for _ in range(300):
            assert self.process.poll() is None, self.log.read_text()
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    url = f"sqlite:///{tmp_path}/g.db"
    schema.sync(url)
    started = Server(url, free_port(), tmp_path / "log")
    try:
        started.wait_ready()
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def test_server_starts_and_stops(server: Server, tmp_path: Path) -> None:
    assert json.loads(server.get("/placement/")[1])["versions"][0]["id"] == "v1.0"
    assert server.get("/traits/CUSTOM_KEPT", "PUT")[0] == 201
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
    log = server.log.read_text()
    assert '"PUT /traits/CUSTOM_KEPT" status: 201 len: 0 microversion: 1.39' in log
    again = Server(f"sqlite:///{tmp_path}/g.db", free_port(), tmp_path / "log2")
    try:
        again.wait_ready()
        assert again.get("/traits/CUSTOM_KEPT")[0] == 204
    finally:
        again.process.kill()
        again.process.wait()


def test_unusable_database_ends_the_service(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/nowhere/g.db"
    started = Server(url, free_port(), tmp_path / "log")
    assert started.process.wait(60) == 1
    text = started.log.read_text()
    assert "nowhere" in text
    assert "Traceback" not in text
