"""The program that listens on a wanted port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gantt.api.hosting import port_owner
from gantt.api.hosting.port_owner import is_taken
from tests import live
from tests.http_server import LoopbackHandler, LoopbackServer, answering
from tests.programs import captured

HOST = "127.0.0.1"


class Stranger(LoopbackHandler):
    """Answers everything with what is no document of Gantt."""

    def do_GET(self) -> None:
        self.reply(200, b'{"info": ["Gantt"]}')


@contextmanager
def another_server() -> Iterator[int]:
    """A port of this process with an HTTP server that is no Gantt."""
    with answering(LoopbackServer(Stranger)) as server:
        yield server.server_port


def script(port: int, pid_file: Path) -> subprocess.CompletedProcess[str]:
    """What ``scripts/run`` asks before anything is installed."""
    return captured(
        [sys.executable, "-I", port_owner.__file__, HOST, str(port), str(pid_file)]
    )


def test_free_port() -> None:
    assert not is_taken(HOST, live.free_port())


def test_other_program_is_named_with_process_and_folder() -> None:
    with another_server() as port:
        assert is_taken(HOST, port)
        found = port_owner.port_owner(HOST, port)
    assert (found.is_gantt, found.pid, found.folder) == (
        False,
        os.getpid(),
        str(Path.cwd()),
    )
    assert str(found).startswith(f"Another program uses http://{HOST}:{port} (process")


def test_silent_program_is_not_taken_for_gantt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(port_owner, "TIMEOUT_S", 0.1)
    with closing(socket.socket()) as mute:
        mute.bind((HOST, 0))
        mute.listen()
        assert not port_owner.port_owner(HOST, mute.getsockname()[1]).is_gantt


def test_invisible_process_needs_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(port_owner, "PROC", tmp_path)
    with another_server() as port:
        found = port_owner.port_owner(HOST, port)
    assert str(found) == f"Another program uses http://{HOST}:{port}."
    assert f"ss -ltnp 'sport = :{port}'" in found.ending(port)


def test_running_gantt_is_named_with_its_process(tmp_path: Path) -> None:
    with live.served(tmp_path) as service:
        port = int(service.url.rpartition(":")[2])
        pid = service.process.pid
        told = f"Gantt is already running on {service.url} (process {pid}, started in "
        # As a second `gantt serve` does.
        serve = ("serve", "--database", service.database)
        ended = captured(live.program(*serve, "--listen", f"{HOST}:{port}"))
        assert ended.returncode == 1
        assert told in ended.stderr
        assert "nother program" not in ended.stderr
        # As `make run` does, of another folder, and of this one.
        pid_file = tmp_path / "gantt.pid"
        other = script(port, pid_file)
        assert other.returncode == 1
        assert told in other.stderr
        assert f"make run PORT={port + 1}" in other.stderr
        pid_file.write_text(f"{pid}\n")
        ours = script(port, pid_file)
        assert ours.returncode == 3
        assert told in ours.stdout
        assert f"kill {pid}" in ours.stdout


def test_address_of_another_machine_is_not_taken() -> None:
    with pytest.raises(OSError, match="assign"):
        is_taken("192.0.2.1", 8778)


def test_it_runs_with_standard_library_alone() -> None:
    """``scripts/run`` calls it with any Python, before there is a .venv."""
    ended = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            port_owner.__file__,
            HOST,
            str(live.free_port()),
            "x",
        ],
        check=False,
    )
    assert ended.returncode == 0
