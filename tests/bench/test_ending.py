"""However a measurement is ended, its servers and its files are gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

import pytest

from gantt.bench.bench_fleets import fleet_of
from gantt.bench.servers import STOP_S, Server, family, free_port
from gantt.bench.sides import Furnished, Sides
from tests.live import program

START_S = 60.0
STUBBORN = """
import http.server, os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.chdir(sys.argv[2])
place = "127.0.0.1", int(sys.argv[1])
handler = http.server.SimpleHTTPRequestHandler
http.server.ThreadingHTTPServer(place, handler).serve_forever()
"""
SUITE = """
import sys
from pathlib import Path
from bench import __main__ as program
from gantt.bench.servers import Server
from gantt.store import schema
def measure(folder, scale):
    schema.sync(f"sqlite:///{folder}/books.db")
    with Server.gantt(folder / "books.db"):
        import time
        time.sleep(60)
    yield
program.suite = lambda _: measure
sys.argv[1:] = ["books"]
program.main()
"""


def running(pids: list[int]) -> list[int]:
    """Those that have not ended; one that no parent asks about may stay listed."""
    found = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
            found += [pid] if state != "Z" else []
    return found


def _as_from_a_terminal() -> None:
    """What a shell starts in the background ignores the one, and nohup the other."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def measuring(folder: Path, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """It runs, and has a server; whatever is left of it is killed at the end."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_as_from_a_terminal,
    )
    seen: list[int] = []
    try:
        give_up = time.monotonic() + START_S
        while len(seen) < 3:  # the server, and its worker
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.01)
            seen = family(process.pid)
        yield process
    finally:
        for pid in {*seen, *family(process.pid)}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def to_it(pid: int, number: signal.Signals) -> None:
    os.kill(pid, number)


def to_its_group(pid: int, number: signal.Signals) -> None:
    """As a terminal does."""
    os.killpg(pid, number)


ENDS = pytest.mark.parametrize(
    ("number", "send", "status"),
    [
        (signal.SIGTERM, to_it, -signal.SIGTERM),
        (signal.SIGHUP, to_its_group, -signal.SIGHUP),
        (signal.SIGINT, to_its_group, 128 + signal.SIGINT),
    ],
)
Send = Callable[[int, signal.Signals], None]


@ENDS
def test_signals_stop_a_bench_and_its_servers(
    number: signal.Signals, send: Send, status: int, tmp_path: Path
) -> None:
    command = program("bench", "--hosts", "20", "--folder", str(tmp_path))
    with measuring(tmp_path, command) as process:
        pids = family(process.pid)
        # A terminal's signal is for the measurement, which stops them.
        assert process.pid not in [os.getpgid(one) for one in pids[1:]]
        assert list(tmp_path.iterdir())
        send(process.pid, number)
        assert process.wait(STOP_S) == status
        assert running(pids) == []
        assert list(tmp_path.iterdir()) == []


def test_sigterm_stops_a_suite_of_the_repository(tmp_path: Path) -> None:
    with measuring(tmp_path, [sys.executable, "-c", SUITE]) as process:
        pids = family(process.pid)
        assert list((tmp_path / "var").iterdir())
        process.terminate()
        assert process.wait(STOP_S) == -signal.SIGTERM
        assert running(pids) == []
        assert list((tmp_path / "var").iterdir()) == []


def test_an_impatient_end_leaves_no_server(tmp_path: Path) -> None:
    """The second Ctrl-C, while a server that does not end is waited for."""
    port = free_port()
    command = [sys.executable, "-c", STUBBORN, str(port), str(tmp_path)]
    server = Server(command, port, tmp_path / "log", ready_path="/")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with server:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                server.__exit__(None, None, None)
            assert running([server.pid]) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_server_is_killed_that_could_not_be_told_to_end(tmp_path: Path) -> None:
    """The second Ctrl-C, before the server has its signal."""
    port = free_port()
    command = [sys.executable, "-c", STUBBORN, str(port), str(tmp_path)]
    with Server(command, port, tmp_path / "log", ready_path="/") as server:
        early = mock.patch.object(
            server._process, "terminate", side_effect=KeyboardInterrupt
        )
        with early, pytest.raises(KeyboardInterrupt):
            server.__exit__(None, None, None)
        assert running([server.pid]) == []


def test_a_side_that_cannot_be_made_leaves_no_server(tmp_path: Path) -> None:
    furnished = Furnished(fleet_of("flat", 3, is_mixed=False), tmp_path / "fleet.db")
    books = mock.Mock()
    with (
        mock.patch.object(Sides, "_served", return_value=books),
        mock.patch("gantt.bench.nova_side.NovaSide", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        Sides(furnished, tmp_path).open("nova-placement", mock.Mock())
    books.close.assert_called_once()
