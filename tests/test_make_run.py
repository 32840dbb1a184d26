"""``make run`` as a newcomer sees it: its story, and the commands that it prints."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gantt.agent.machine import machine_name
from tests.live import free_port
from tests.programs import begun, captured
from tests.tidy.source import ROOT

LONGEST_S = 120.0
# What a log would have, and a newcomer cannot place.
NO_STORY = re.compile(
    r"\b404\b|\bGET /|\bPOST /|HTTP/1|alembic|migration|INFO|WARNING|Traceback", re.I
)
END = "sign in with the token admin."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What ``make run`` reads of the repository; its programs are built already."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    owner = Path("gantt", "api", "hosting", "port_owner.py")
    (tmp_path / owner).parent.mkdir(parents=True)
    shutil.copy(ROOT / owner, tmp_path / owner)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, module in (
        ("python", ""),
        ("gantt", "-P -m gantt"),
        ("gantt-manage", '-P -c "from gantt.cli.start import manage; manage()"'),
    ):
        file = programs / name
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        file.chmod(0o755)
    stamp = subprocess.check_output(
        "cat pyproject.toml constraints.txt | cksum", shell=True, cwd=tmp_path
    )
    (programs.parent / "gantt-run.stamp").write_bytes(stamp)
    return tmp_path


def environ() -> dict[str, str]:
    """A newcomer's: nothing that tests, or a service beside them, set."""
    ours = ("GANTT", "OS_", "PYTHON", "VIRTUAL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return {**kept, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}


@contextmanager
def made(folder: Path, port: int) -> Iterator[str]:
    """``make run``, until it has told its story, which this is."""
    told = folder / "told"
    with told.open("wb") as output:
        process = begun(
            ["make", "run", f"PORT={port}"], output, cwd=folder, env=environ()
        )
    try:
        deadline = time.monotonic() + LONGEST_S
        while END not in told.read_text():
            assert process.poll() is None, told.read_text()
            assert time.monotonic() < deadline, told.read_text()
            time.sleep(0.1)
        yield told.read_text()
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(LONGEST_S)


def test_its_story_has_no_log_and_its_commands_work_for_its_port(folder: Path) -> None:
    port = free_port()
    with made(folder, port) as story:
        assert NO_STORY.findall(story) == []
        assert story.count("Claimed in the books: 64 MEMORY_MB.") == 1, story
        assert f"http://127.0.0.1:{port}/gantt/ui;" in story
        _, _, commands = story.partition("In a second terminal:\n\n")
        export, listing, refused = re.findall(r"^  (\S.*)$", commands, re.M)
        assert export == f"export GANTT_URL=http://127.0.0.1:{port}"
        listed = typed(folder, export, listing)
        assert listed.returncode == 0 and machine_name() in listed.stdout, listed
        said = typed(folder, export, refused)
        assert said.returncode == 1, said
        assert "No valid host was found." in said.stderr
        assert "This would help: ask for" in said.stderr
        log = (folder / "var" / f"gantt-{port}.log").read_text()
        assert f"Listening on http://127.0.0.1:{port}" in log
    assert "Traceback" not in (folder / "told").read_text()


def typed(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """What a second terminal says to these lines, the last of which ends it."""
    return captured(["sh", "-c", "\n".join(lines)], cwd=folder, env=environ())
