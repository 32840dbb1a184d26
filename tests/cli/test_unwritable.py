"""Unwritable output is reported; a broken pipe ends silently."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gantt.connection import connect

FULL = Path("/dev/full")
MODULES = {"gantt": "main", "gantt-manage": "manage", "gantt-status": "status"}


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


def test_broken_pipe_ends_a_table_silently(url: str) -> None:
    books = connect(url)
    # More than a pipe holds.
    for number in range(2_000):
        books.create_provider(f"{number:04}-{'x' * 150}")
    books.close()
    words = command("gantt", "provider", "list", "--url", url)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().split()[:2] == [b"uuid", b"name"]
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1
