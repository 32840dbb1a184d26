"""Unwritable output is reported; broken pipes and Ctrl-C end silently, and colours are
only on terminals."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gantt.connection import connect
from tests.live import ending

FULL = Path("/dev/full")
MODULES = {
    "gantt": "main",
    "gantt-agent": "agent",
    "gantt-manage": "manage",
    "gantt-status": "status",
}


def command(name: str, *words: str) -> list[str]:
    """The console script under this very Python."""
    code = f"from gantt.cli.{MODULES[name]} import main; main()"
    return [sys.executable, "-c", code, *words]


@pytest.fixture
def url(tmp_path: Path) -> str:
    found = f"sqlite:///{tmp_path / 'books.db'}"
    connect(found, create=True).close()
    return found


@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ("gantt", "host", "list", "--url", "URL"),
        ("gantt", "provider", "list", "-o", "json", "--url", "URL"),
        ("gantt", "provider", "list", "-o", "csv", "--url", "URL"),
        ("gantt", "--help"),
        ("gantt", "host", "list", "--help"),
        ("gantt-manage", "--database", "URL", "verify"),
        ("gantt-manage", "--version"),
        ("gantt-agent", "--version"),
        ("gantt-status", "upgrade", "check", "--database", "URL"),
    ],
    ids=" ".join,
)
def test_full_device_is_reported_on_one_line(words: tuple[str, ...], url: str) -> None:
    with FULL.open("w") as full:
        ended = subprocess.run(
            command(*(url if word == "URL" else word for word in words)),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.stderr == (
        "Error: Cannot write the output: No space left on device.\n"
    )
    assert ended.returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("gantt", "host", "list", "--url", "URL"),
        ("gantt", "host", "list", "-o", "json", "--url", "URL"),
        ("gantt", "--help"),
        ("gantt-manage", "--version"),
        ("gantt-agent", "--version"),
        ("gantt-status", "upgrade", "check", "--database", "URL"),
    ],
    ids=" ".join,
)
def test_a_closed_output_is_reported(words: tuple[str, ...], url: str) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh"]
    ended = subprocess.run(
        shell + command(*(url if word == "URL" else word for word in words)),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    told = "Error: Cannot write the output: standard output is closed.\n"
    assert (ended.returncode, ended.stderr) == (1, told)


def test_broken_pipe_ends_a_table_silently(url: str) -> None:
    books = connect(url)
    # More than a pipe holds.
    for number in range(2_000):
        books.create_provider(f"{number:04}-{'x' * 150}")
    books.close()
    words = command("gantt", "provider", "list", "--url", url)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with ending(process) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().split()[:2] == [b"uuid", b"name"]
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


# A listener that never answers: the command waits for it until the signal.
def test_ctrl_c_ends_silently_with_130() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        words = command("gantt", "host", "list", "--url", f"http://127.0.0.1:{port}")
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Programs that a shell starts in the background ignore it.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        with ending(process) as running:
            asked, _ = listener.accept()
            with asked:
                assert asked.recv(1)
                running.send_signal(signal.SIGINT)
                told = running.communicate(timeout=60)
    assert told == (b"", b"")
    assert running.returncode == 130


def on_a_terminal(words: list[str], environ: dict[str, str]) -> str:
    """What they write there."""
    reader, terminal = pty.openpty()
    try:
        subprocess.run(
            words, stdout=terminal, check=True, env={**os.environ, **environ}
        )
        return os.read(reader, 65536).decode()
    finally:
        os.close(terminal)
        os.close(reader)


@pytest.mark.parametrize(
    ("environ", "is_styled"),
    [
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "NO_COLOR": ""}, False),
    ],
)
def test_styles_are_for_terminals_that_want_them(
    url: str, environ: dict[str, str], is_styled: bool
) -> None:
    words = command("gantt", "provider", "list", "--url", url)
    assert ("\x1b" in on_a_terminal(words, environ)) is is_styled
