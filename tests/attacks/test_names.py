"""Hostile names in every interface: the log and the programs output plain text."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from click.testing import CliRunner

from gantt.cli.main import gantt
from tests import live
from tests.attacks.attackers import FORGED, HOSTILE
from tests.attacks.service import ADMIN, Service, attacked, provider

SHOWN = rf"a\x1b]0;t\x07\x1b[2J\nb\r{FORGED}\x9b31m\u202e\u2028\x85\x7f[bold]c[/]"
NUL = "n\x00l"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \d+ [A-Z]+ [\w.]+ |  ")
UUID = "00000000-0000-4000-8000-00000000000a"
HOST = {"vcpus": 8, "memory_mb": 64_000, "local_gb": 900, "hypervisor_type": HOSTILE}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Books of their own, with hostile names wherever a name may be."""
    with attacked(tmp_path_factory.mktemp("names")) as found:
        fill(found)
        yield found


def fill(service: Service) -> None:
    """Through every door that takes a name; not all take this one."""
    named = {"name": HOSTILE, "uuid": provider(1)}
    assert service.ask("POST", "/resource_providers", named)[0] == 200
    consumer: dict[str, object] = {
        "allocations": {},
        "project_id": HOSTILE,
        "user_id": HOSTILE,
        "consumer_generation": None,
        "consumer_type": HOSTILE,
    }
    text = quote(HOSTILE, safe="")
    spec = {
        "flavor": {"vcpus": 1, "memory_mb": 512, "root_gb": 1, "name": HOSTILE},
        "scheduler_hints": {HOSTILE: HOSTILE, "query": HOSTILE},
        "project_id": HOSTILE,
        "availability_zone": HOSTILE,
    }
    select = {
        "request_spec": spec,
        "instance_uuids": [UUID],
        "context": {"request_id": HOSTILE, "user_id": HOSTILE, "project_id": HOSTILE},
    }
    for method, path, body in (
        ("POST", "/resource_providers", {"name": NUL}),
        ("PUT", f"/allocations/{UUID}", consumer),
        ("PUT", f"/allocations/{text}", consumer),
        ("PUT", f"/traits/CUSTOM_{text}", None),
        ("POST", "/resource_classes", {"name": f"CUSTOM_{HOSTILE}"}),
        ("PUT", f"/gantt/hosts/{text}/{text}", HOST),
        ("PUT", "/gantt/services", {"host": HOSTILE, "disabled_reason": HOSTILE}),
        ("PUT", f"/gantt/aggregates/{UUID}", {"name": HOSTILE, "hosts": [HOSTILE]}),
        ("PUT", f"/gantt/server_groups/{UUID}", {"policy": HOSTILE}),
        ("POST", f"/gantt/instances/{text}", {"instances": [{"uuid": HOSTILE}]}),
        ("PUT", f"/gantt/instances/{text}", {"instance_uuids": [HOSTILE]}),
        ("POST", "/gantt/select", select),
        ("POST", "/gantt/select", {**select, "request_spec": {"flavor": HOSTILE}}),
        ("GET", f"/resource_providers?name={text}", None),
        ("GET", f"/allocation_candidates?resources={text}", None),
        ("GET", f"/{text}?{text}", None),
    ):
        status, _ = service.ask(method, path, body)
        assert status < 500, (method, path)
    for name in ("X-Openstack-Request-Id", "X-Openstack-Global-Request-Id", "X-Roles"):
        raw(service, f"{name}: req-\x1b[31m {FORGED}")
    raw(service, f"OpenStack-API-Version: placement \x1b[31m{FORGED}")
    raw(service, f"User-Agent: \x9b31m{FORGED}", "GET /\x1b[31m?\x1b[2J\x9b HTTP/1.1")


def raw(service: Service, header: str, line: str = "GET /traits HTTP/1.1") -> None:
    """What no library would send."""
    lines = (line, "Host: h", f"X-Auth-Token: {ADMIN}", "Connection: close", header)
    with socket.create_connection(("127.0.0.1", service.port), 20) as one:
        one.sendall("\r\n".join((*lines, "", "")).encode("latin-1"))
        while one.recv(65_536):
            pass


def run(service: Service, *words: str) -> subprocess.CompletedProcess[bytes]:
    """``gantt`` in a process of its own."""
    environ = {**os.environ, "GANTT_URL": service.live.url, "GANTT_TOKEN": ADMIN}
    return subprocess.run(
        live.program(*words), capture_output=True, env=environ, timeout=60, check=False
    )


def check_text(printed: bytes) -> list[str]:
    """The lines, each of them printable."""
    lines = printed.decode().split("\n")
    assert all(line.isprintable() for line in lines), printed
    return lines


def lines_up_to_now(service: Service) -> list[str]:
    """Lines are written in batches, soon after their events."""
    last = f"/last-{uuid4()}"
    service.ask("GET", last)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        lines = service.log_lines()
        if last in lines[-1]:
            return lines
        time.sleep(0.05)
    raise AssertionError(f"{last} is not in the log")


def test_log_lines_are_neither_forged_nor_raw(service: Service) -> None:
    lines = lines_up_to_now(service)
    assert len(lines) > 20
    for line in lines:
        assert LINE.match(line), line
        assert line.isprintable(), line
        assert not line.startswith(FORGED), line


def test_json_log_has_one_line_per_request(tmp_path: Path) -> None:
    spawned = live.start(
        f"sqlite:///{tmp_path / 'gantt.db'}",
        tmp_path / "json.log",
        options=("--auth", "noauth2", "--log-json"),
    )
    try:
        service = Service(spawned, int(spawned.url.rpartition(":")[2]))
        service.ask("POST", "/resource_providers", {"name": HOSTILE}, token="admin")
        raw(service, f"X-Openstack-Request-Id: {FORGED}")
        assert spawned.stop() == 0
    finally:
        spawned.kill()
    lines = service.log_lines()
    assert len(lines) >= 3
    for line in lines:
        assert json.loads(line)["level"]
        assert line.isprintable()


TABLES = [
    ("provider", "list"),
    ("provider", "show", HOSTILE),
    ("provider", "show", provider(1)),
    ("inventory", "list", HOSTILE),
    ("trait", "list"),
    ("resource-class", "list"),
    ("aggregate", "list", HOSTILE),
    ("allocation", "show", UUID),
    ("usage", "show", HOSTILE),
    ("usage", "total", HOSTILE),
    ("host", "list"),
    ("host", "show", HOSTILE),
    ("host", "show", HOSTILE, "--topology"),
    ("candidates", "VCPU=1", "--required", HOSTILE, "--explain"),
    ("candidates", f"CUSTOM_{HOSTILE}=1"),
    ("select", "--flavor", "vcpus=1,memory_mb=1", "--zone", HOSTILE),
    ("select", "--flavor", HOSTILE),
    ("select", "--flavor", "vcpus=1,memory_mb=1", "--dry-run", "--zone", HOSTILE),
    ("capacity", "vcpus=1"),
    ("explain", HOSTILE),
    ("explain", UUID),
    ("watch", "--since", "0", "--no-follow"),
    ("watch", "--since", "0", "--no-follow", "-c", "kind", "-c", "changes"),
    *(("provider", "list", "-o", name, "-c", "name") for name in ("yaml", "value")),
    *(("host", "show", HOSTILE, "-o", name) for name in ("yaml", "value")),
    ("provider", "list", "-c", HOSTILE),
    ("top", "--once"),
    ("top", "-o", "value"),
    (HOSTILE,),
    ("provider", f"--{HOSTILE}"),
    ("provider", "list", "-o", HOSTILE),
    ("usage", "history", "--since", HOSTILE),
    ("provider", "list", "--url", f"http://{HOSTILE}"),
]


@pytest.mark.parametrize("words", TABLES, ids=lambda words: " ".join(words)[:30])
def test_terminal_output_is_printable(service: Service, words: tuple[str, ...]) -> None:
    # A dumb terminal has no bold heading: whatever is not printable came from a name.
    environ = {"GANTT_URL": service.live.url, "GANTT_TOKEN": ADMIN, "TERM": "dumb"}
    # As on a terminal: click takes some sequences out elsewhere, and only some.
    done = CliRunner(env=environ).invoke(gantt, words, color=True)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    lines = check_text(done.stdout_bytes) + check_text(done.stderr_bytes)
    assert any(lines)
    # A name begins no line of its own.
    assert not any(line.startswith(("b\\r", FORGED)) for line in lines)


def test_tables_show_each_character_of_a_name(service: Service) -> None:
    assert SHOWN in run(service, "provider", "list").stdout.decode()


def test_json_and_csv_are_exact(service: Service) -> None:
    printed = run(service, "provider", "list", "-o", "json").stdout
    check_text(printed)
    assert HOSTILE in [one["name"] for one in json.loads(printed)]
    printed = run(service, "provider", "list", "-o", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(printed.decode(), newline="")))
    assert HOSTILE in [row["name"] for row in rows]


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_terminal_gets_no_escapes_but_the_colour_of_headings(
    service: Service, output: str
) -> None:
    """A pseudo terminal, since what is written depends on there being one."""
    leader, terminal = pty.openpty()
    environ = {
        **os.environ,
        "GANTT_URL": service.live.url,
        "GANTT_TOKEN": ADMIN,
        "TERM": "xterm",
    }
    words = live.program("provider", "list", "-o", output)
    with live.ending(subprocess.Popen(words, stdout=terminal, env=environ)) as process:
        os.close(terminal)
        printed = b""
        while chunk := _read(leader):
            printed += chunk
    os.close(leader)
    assert process.returncode == 0
    text = printed.decode().replace("\r\n", "\n")
    bare = re.sub(r"\x1b\[[01]m", "", text)
    assert all(line.isprintable() for line in bare.split("\n")), text
    assert "forged" in text


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # the last of the other side has gone
        return b""
