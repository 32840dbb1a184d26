"""``gantt.wsgi:application``: nothing at import, everything at the first request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from gantt.api.call import Environ
from gantt.api.middleware import StartResponse, WsgiApp
from gantt.wsgi import FirstRequest
from tests.api.wsgi_client import WsgiClient
from tests.programs import captured


def hello(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [])
    return [b"hello"]


def test_importing_has_no_side_effects() -> None:
    program = (
        "import sys, threading, gantt.wsgi\n"
        "assert callable(gantt.wsgi.application)\n"
        "assert threading.active_count() == 1\n"
        "assert not {'gantt.api.app', 'granian', 'oslo_config'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_application_is_built_once() -> None:
    built: list[WsgiApp] = []

    def build() -> WsgiApp:
        built.append(hello)
        return hello

    client = WsgiClient(FirstRequest(build))
    assert client("GET", "/").body == b"hello"
    assert client("GET", "/").body == b"hello"
    assert len(built) == 1


def test_failed_build_is_retried() -> None:
    failures = [RuntimeError("no")]

    def build() -> WsgiApp:
        if failures:
            raise failures.pop()
        return hello

    client = WsgiClient(FirstRequest(build))
    with pytest.raises(RuntimeError):
        client("GET", "/")
    assert client("GET", "/").body == b"hello"


def test_environment_is_sufficient(tmp_path: Any) -> None:
    (tmp_path / "gantt.conf").write_text(
        "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = memory://\n"
    )
    program = (
        "from gantt.wsgi import application\n"
        "from tests.api.wsgi_client import WsgiClient\n"
        "send = WsgiClient(application)\n"
        "assert send('GET', '/').status == 200\n"
        "assert send('GET', '/traits', version=39).json['traits']\n"
        "assert send('PUT', '/traits/CUSTOM_A', version=39).status == 201\n"
    )
    environ = {"OS_GANTT_CONFIG_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environ)


FORKED = """
import os
import sys
from gantt.wsgi import application
from tests.api.wsgi_client import WsgiClient

send = WsgiClient(application)
for name in ("CUSTOM_A", "CUSTOM_B"):  # as a server that loads before it forks
    if os.fork() == 0:
        assert send("PUT", f"/traits/{name}", version=39).status == 201
        sys.exit()
for _ in range(2):
    assert os.wait()[1] == 0
found = send("GET", "/traits", version=39).json["traits"]
assert {"CUSTOM_A", "CUSTOM_B"} <= set(found)
print(send("GET", "/metrics").text)
"""


def test_forked_workers_share_one_database(tmp_path: Any) -> None:
    (tmp_path / "gantt.conf").write_text(
        "[api]\nauth_strategy = noauth2\n[placement_database]\n"
        f"connection = sqlite:///{tmp_path}/books.db\nsync_on_startup = true\n"
    )
    (tmp_path / "metrics").mkdir()
    environ = {
        "OS_GANTT_CONFIG_DIR": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
    }
    ended = captured([sys.executable, "-c", FORKED], env=environ)
    assert ended.returncode == 0, ended.stderr
    labels = 'code="201",method="PUT",route="/traits/{name}"'
    assert f"gantt_http_requests_total{{{labels}}} 2.0" in ended.stdout
    assert '"PUT /traits/CUSTOM_A" status: 201' in ended.stderr
