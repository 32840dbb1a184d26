"""``gantt serve``: starts, registers the machine, and reports errors."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from gantt.cli.connection_options import DEFAULT_URL
from gantt.cli.main import gantt
from gantt.client.remote import RemoteGantt
from gantt.connection import open_gantt
from gantt.store import schema
from tests import live
from tests.cli.conftest import Program
from tests.logged import milestones
from tests.programs import captured, printed
from tests.replay.recorded import add_hosts

LOOPBACK = "127.0.0.1"


@pytest.fixture
def program() -> Program:
    return Program(gantt, "")


def a_database(folder: Path) -> tuple[Path, str]:
    file = folder / "gantt.db"
    url = f"sqlite:///{file}"
    schema.sync(url)
    return file, url


def refused(program: Program, url: str, *options: str) -> str:
    """The error of a start on ``url`` that must fail."""
    listen = f"{LOOPBACK}:{live.free_port()}"
    return program.fail("serve", "--database", url, "--listen", listen, *options)


def test_serve_registers_the_machine_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    options = ("--auth", "noauth2", "--register-machine")
    first = live.start(url, tmp_path / "first.log", options=options)
    try:
        text = first.log.read_text()
        assert str(tmp_path / "gantt.db") in text
        assert "admin" in text
        commands = re.findall(r"^  gantt (.*)$", text, re.MULTILINE)
        assert len(commands) == 4
        for command in commands:
            words = shlex.split(command)
            subprocess.run(live.program(*words), check=True, capture_output=True)
        remote = RemoteGantt(first.url)
        (provider,) = remote.list_providers()
        assert remote.get_inventories(provider.uuid).inventories["VCPU"].total >= 1
        used = remote.get_usages(provider.uuid).usages
        assert (used["VCPU"], used["MEMORY_MB"]) == (2, 1024)
        (host,) = remote.list_hosts()
        assert (host.host, host.provider_uuid) == (provider.name, provider.uuid)
        remote.close()
        assert first.stop() == 0
    finally:
        first.kill()
    second = live.start(url, tmp_path / "second.log", options=options)
    try:
        assert "already registered" in second.log.read_text()
        remote = RemoteGantt(second.url)
        assert [each.uuid for each in remote.list_providers()] == [provider.uuid]
        assert remote.get_usages(provider.uuid).usages == used
        assert len(remote.list_hosts()) == 1
        remote.close()
    finally:
        second.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_stops_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with live.served(tmp_path) as service:
        os.kill(service.process.pid, number)
        assert service.process.wait(live.STOP_S) == 0
        (line,) = _milestones(service.log)[1:]
        assert f"{number.name}: no longer ready, and stopping in 0 s" in line


def _milestones(log: Path) -> list[str]:
    text = log.read_text()
    return [line for line in text.splitlines() if "gantt.observe.milestones" in line]


def test_a_start_and_an_end_are_logged_field_by_field(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gantt.db"
    schema.sync(url)
    with open_gantt(url) as books:
        for name in ("b", "c"):
            books.create_provider(name)
        add_hosts(books, "a")
        revision = books.revision
        hosts, providers = len(books.list_hosts()), len(books.list_providers())
    config = tmp_path / "gantt.conf"
    config.write_text("[gantt]\ndrain_delay_s = 0.2\n")
    options = ("--auth", "noauth2", "--log-json", "--config-file", str(config))
    service = live.start(url, tmp_path / "log", options=options)
    try:
        assert service.stop() == 0
    finally:
        service.kill()
    start, end = milestones(service.log.read_text())
    assert start["address"] == urlsplit(service.url).netloc
    assert (start["hosts"], start["providers"]) == (hosts, providers) == (1, 3)
    assert start["revision"] == revision
    assert start["seconds"] >= 0
    assert start["pid"] != end["pid"]
    assert (end["signal"], end["delay"]) == ("SIGTERM", 0.2)


def test_tests_do_not_use_the_default_port(program: Program, tmp_path: Path) -> None:
    default = urlsplit(DEFAULT_URL)
    with socket.socket() as other:
        # Where it is taken already, that will do.
        with contextlib.suppress(OSError):
            other.bind((default.hostname, default.port))
            other.listen()
        said = program.fail("serve", "--database", f"sqlite:///{tmp_path}/no/gantt.db")
    assert f"{tmp_path}/no does not exist" in said


def test_serve_requires_a_database(program: Program) -> None:
    assert "--database" in program.fail("serve")


def test_serve_refuses_a_missing_directory(program: Program, tmp_path: Path) -> None:
    said = refused(program, f"sqlite:///{tmp_path}/nowhere/gantt.db")
    assert f"{tmp_path}/nowhere does not exist" in said


def test_serve_refuses_a_file_that_is_not_sqlite(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "gantt.db"
    file.write_text("this is not a database, whatever its name says" * 100)
    assert "not an SQLite database" in refused(program, f"sqlite:///{file}")


def test_serve_refuses_a_newer_schema(program: Program, tmp_path: Path) -> None:
    file, url = a_database(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE gantt_alembic_version SET version_num = '9999_new'")
        # It has taken away, too: this release cannot go on beside it.
        connection.execute("UPDATE gantt_head SET format = 99")
    said = refused(program, url)
    assert "9999_new" in said
    assert "Upgrade this program" in said


def test_serve_refuses_a_read_only_database(program: Program, tmp_path: Path) -> None:
    file, _ = a_database(tmp_path)
    assert "read-only" in refused(program, f"sqlite:///file:{file}?mode=ro&uri=true")


def test_serve_refuses_a_placement_database(program: Program, tmp_path: Path) -> None:
    file, url = a_database(tmp_path)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE gantt_head")
        connection.execute("DROP TABLE gantt_alembic_version")
    said = refused(program, url)
    assert f"`gantt-manage --database {url} adopt`" in said
    config = tmp_path / "a gantt.conf"
    config.write_text(f"[placement_database]\nconnection = {url}\n")
    said = program.fail("serve", "--config-file", str(config))
    assert f"`gantt-manage '--config-file={config}' adopt`" in said


@pytest.mark.slow
def test_serve_reports_a_locked_database(program: Program, tmp_path: Path) -> None:
    file, url = a_database(tmp_path)
    config = tmp_path / "gantt.conf"
    config.write_text("[gantt]\nlock_timeout_s = 1\n")
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        assert "locked" in refused(program, url, "--config-file", str(config))
    finally:
        connection.close()


def test_serve_reports_a_port_in_use(
    program: Program, tmp_path: Path, service: str
) -> None:
    _, url = a_database(tmp_path)
    listen = service.removeprefix("http://")
    said = program.fail("serve", "--database", url, "--listen", listen)
    assert listen in said


def test_noauth2_requires_a_loopback_address(program: Program, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gantt.db'}"
    said = program.fail(
        "serve", "--database", url, "--listen", "0.0.0.0:0", "--auth", "noauth2"
    )
    assert "noauth2" in said
    assert not (tmp_path / "gantt.db").exists()


def test_memory_database_cannot_register_the_machine(program: Program) -> None:
    assert "--database" in refused(program, "memory://", "--register-machine")


def test_serve_refuses_a_missing_configuration_file(program: Program) -> None:
    assert "nowhere.conf" in program.fail("serve", "--config-file", "nowhere.conf")


def test_serve_takes_no_arguments(program: Program) -> None:
    assert "unexpected" in program.fail("serve", "api", status=2)


def test_serve_exits_if_a_worker_cannot_start(tmp_path: Path) -> None:
    """The parent checks the database; the worker reports errors that arise later."""
    file = tmp_path / "gantt.conf"
    file.write_text(
        "[placement_database]\nconnection = memory://\n"
        "[api]\nauth_strategy = token\n[gantt]\ntokens_file = nowhere.yaml\n"
    )
    listen = f"{LOOPBACK}:{live.free_port()}"
    ended = captured(
        live.program("serve", "--config-file", str(file), "--listen", listen),
        timeout=live.START_S,
    )
    assert ended.returncode == 1
    assert "nowhere.yaml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_does_not_import_the_server() -> None:
    code = (
        "import sys; from gantt.cli.main import gantt; "
        "heavy = {'granian', 'gantt.api.app', 'oslo_config', 'rich', 'alembic'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = printed([sys.executable, "-c", code])
    assert ended.strip() == "[]"
    assert isinstance(gantt, click.Group)
