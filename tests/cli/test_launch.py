"""``gantt launch``: claimed while it runs, released when it ends, however it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import gantt as library
from gantt.cli.main import gantt
from gantt.model.protocol import GanttProtocol
from tests import inprocess, live
from tests.cli.conftest import Program
from tests.launch.fleet import add_hosts, in_use

HERE = socket.gethostname()
SIZE = ("--flavor", "vcpus=1,memory_mb=64")
HOSTS = (HERE, "other")


@pytest.fixture
def fleet(tmp_path: Path) -> Program:
    """This machine and one with more room."""
    url = f"sqlite:///{tmp_path}/gantt.db"
    books = library.connect(url, create=True)
    add_hosts(books, HOSTS)
    books.close()
    return Program(gantt, url)


def used(url: str) -> dict[str, int]:
    books = library.connect(url)
    try:
        return in_use(books, HOSTS)
    finally:
        books.close()


def test_it_is_claimed_while_it_runs_and_released_after(
    fleet: Program, tmp_path: Path
) -> None:
    show = f"{sys.executable} -m gantt usage show {HERE} --url {fleet.url}"
    ended = fleet.run(
        "launch", *SIZE, "--", "sh", "-c", f"{show} -o csv > {tmp_path}/during; exit 3"
    )
    assert ended.exit_code == 3, ended.output
    assert "VCPU,1,8" in (tmp_path / "during").read_text()
    assert f"Launched on {HERE}: instance " in ended.stderr
    assert "Ended with status 3; its claim is released." in ended.stderr
    assert used(fleet.url) == {}


def test_a_command_that_cannot_be_started_is_told_with_its_host(fleet: Program) -> None:
    said = fleet.fail("launch", *SIZE, "nosuch-command")
    assert f"1. {HERE}: launch failed: nosuch-command cannot be started" in said
    assert used(fleet.url) == {}


def test_another_host_is_not_this_machine(fleet: Program) -> None:
    said = fleet.fail("launch", *SIZE, "--host", "other", "true")
    assert "1. other: launch failed: a process can be started on this machine" in said
    assert used(fleet.url) == {}


def test_another_launcher_goes_to_any_host(fleet: Program) -> None:
    ended = fleet.run("launch", *SIZE, "--launcher", "simulated", "true")
    assert ended.exit_code == 0
    assert "Launched on other: " in ended.stderr


def test_no_valid_host_says_why(fleet: Program) -> None:
    said = fleet.fail("launch", "--flavor", "vcpus=9,memory_mb=64", "true")
    assert "ask for 8 instead of 9 VCPU" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_process_and_releases_the_claim(
    fleet: Program, tmp_path: Path, number: signal.Signals
) -> None:
    told = tmp_path / "pid"
    command = ("sh", "-c", f"echo $$ > {told}.new; mv {told}.new {told}; sleep 600")
    process = subprocess.Popen(
        live.program("launch", *SIZE, "--url", fleet.url, "--", *command),
        # Shells start what runs in the background with SIGINT ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    with live.ending(process) as running:
        until = time.monotonic() + 60
        while not told.exists():
            assert time.monotonic() < until and running.poll() is None
            time.sleep(0.05)
        assert used(fleet.url) == {HERE: 1}
        running.send_signal(number)
        assert running.wait(60) != 0
    assert used(fleet.url) == {}
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_over_http(tmp_path: Path) -> None:
    with inprocess.service(tmp_path) as url:
        books: GanttProtocol = library.connect(url)
        add_hosts(books, HOSTS)
        books.close()
        program = Program(gantt, url)
        assert program.run("launch", *SIZE, "true").exit_code == 0
        assert used(url) == {}
