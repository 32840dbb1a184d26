"""``gantt top``: one screen of a running service."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from gantt.cli import top
from gantt.cli.main import gantt
from gantt.cli.top import figures_of
from gantt.connection import connect
from gantt.errors import Unavailable
from tests import inprocess
from tests.cli.conftest import Program

FLAVOR = "vcpus=1,memory_mb=16,disk_gb=1"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Program]:
    """Against a service that no other test uses."""
    with inprocess.service(tmp_path) as url:
        yield Program(gantt, url)


def test_a_screen_has_hosts_queue_and_decisions(own: Program) -> None:
    for number in range(3):
        words = ("vcpus=8", "memory_mb=4096", "local_gb=50")
        own.do("host", "update", f"host-{number}", *words)
    placed = own.ask("select", "--flavor", FLAVOR, "--instance", str(uuid4()))
    own.fail("select", "--flavor", "vcpus=99,memory_mb=16,disk_gb=1")
    text = own.do("top", "--once")
    lines = [line.split() for line in text.splitlines()]
    ids = own.do(*"watch --since 0 --no-follow -o value -c id".split()).split()
    assert text.startswith(f"Revision {ids[-1].partition('-')[0]}, ")
    assert "Hosts: 3 enabled" in text
    assert ["decisions", "2", "-"] in lines
    assert ["commands", "for", "the", "committer", "0"] in [one[:5] for one in lines]
    outcomes = [line for line in lines if line and line[0].startswith("20")]
    assert len(outcomes) == 2
    assert outcomes[1][-1] == placed[0]["selections"][0]["service_host"]
    assert "No valid host" in text


def test_decisions_are_limited(own: Program) -> None:
    own.do("host", "update", "one", "vcpus=8", "memory_mb=4096", "local_gb=50")
    for _ in range(3):
        own.do("select", "--flavor", FLAVOR)
    lines = own.do("top", "--decisions", "2").splitlines()
    assert sum(line.startswith("20") for line in lines) == 2
    assert "outcome" not in own.do("top", "--decisions", "0")


def test_figures_for_programs(own: Program) -> None:
    own.do("host", "update", "one", "vcpus=8", "memory_mb=4096", "local_gb=50")
    found = own.ask("top")
    hosts = [one for one in found if one["figure"] == "gantt_hosts"]
    assert {"figure": "gantt_hosts", "labels": {"state": "enabled"}, "value": 1} in (
        hosts
    )
    values = own.do("top", "-o", "value", "-c", "figure").split()
    assert "gantt_queue_length" in values


def test_a_database_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'books.db'}"
    connect(url, create=True).close()
    assert "give the address of 'gantt serve'" in Program(gantt, url).fail("top")


def test_rates_between_two_screens() -> None:
    def figures(count: int) -> str:
        return f'gantt_schedule_total{{outcome="placed"}} {count}\n'

    before, now = figures_of(figures(10)), figures_of(figures(40))
    name = "gantt_schedule_total"
    assert top._rate(now, before, name, 2.0) == 15.0
    assert top._rate(now, {}, name, 2.0) is None
    assert top._rate(before, now, name, 2.0) is None


def test_what_is_no_metrics_is_reported() -> None:
    with pytest.raises(Unavailable, match="format of Prometheus"):
        figures_of("<html>a proxy</html>\n")


def test_a_terminal_shows_changes_until_ctrl_c(own: Program) -> None:
    code = "from gantt.cli.main import main; main()"
    reader, terminal = pty.openpty()
    words = ("top", "--interval", "0.2", "--url", own.url)
    running = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=terminal,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"},
        # Programs that a shell starts in the background ignore it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    os.close(terminal)
    try:
        _read_until(reader, b"Hosts: 0 enabled")
        own.do("host", "update", "new", "vcpus=8", "memory_mb=4096", "local_gb=50")
        _read_until(reader, b"Hosts: 1 enabled")
        running.send_signal(signal.SIGINT)
        _read_until(reader, b"\x1b[?1049l")  # the terminal is as it was before
        assert running.communicate(timeout=60)[1] == b""
        assert running.returncode == 0
    finally:
        running.kill()
        running.wait()
        os.close(reader)


def _read_until(reader: int, expected: bytes) -> None:
    read, end = b"", time.monotonic() + 30
    while expected not in read:
        assert time.monotonic() < end, read
        read += os.read(reader, 65536)
