"""Ctrl-C while a program still imports what it needs: silence, and the signal."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.programs import captured, printed
from tests.tidy.source import ROOT
from tests.wheel.wheels import project_of

# Interrupts the program when it imports a module of this name.
_INTERRUPTED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *rest):
        if name == {at!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupts())
sys.argv = ["gantt", "--version"]
from gantt.cli import start
start.{program}()
"""


def started(program: str, at: str, handler: str) -> subprocess.CompletedProcess[str]:
    code = _INTERRUPTED.format(program=program, at=at, handler=handler)
    return captured([sys.executable, "-c", code])


@pytest.mark.parametrize("program", ["gantt", "agent", "launch", "manage", "status"])
@pytest.mark.parametrize("at", ["click", "msgspec", "gantt.errors"])
def test_ctrl_c_during_imports_ends_a_program_in_silence(program: str, at: str) -> None:
    found = started(program, at, "default_int_handler")
    assert found.returncode == -signal.SIGINT, found
    assert (found.stdout, found.stderr) == ("", "")


def test_a_signal_that_the_caller_ignores_is_ignored() -> None:
    found = started("gantt", "click", "SIG_IGN")
    assert found.returncode == 0, found
    assert "gantt, version" in found.stdout


def test_little_is_loaded_before_ctrl_c_is_silent() -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nimport gantt.cli.start\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    found = printed([sys.executable, "-S", "-c", code], cwd=ROOT)
    loaded = set(found.split())
    assert {"gantt", "gantt.cli", "gantt.cli.start"} <= loaded
    assert loaded.isdisjoint({"typing", "re", "msgspec", "click", "numpy"})


def test_every_program_starts_there() -> None:
    scripts = {
        **project_of("gantt-scheduler")["project"]["scripts"],
        **project_of("gantt-agent")["project"]["scripts"],
    }
    assert scripts == {
        "gantt-agent": "gantt.cli.start:agent",
        "gantt-launch": "gantt.cli.start:launch",
        "gantt": "gantt.cli.start:gantt",
        "gantt-manage": "gantt.cli.start:manage",
        "gantt-status": "gantt.cli.start:status",
    }
    assert "gantt.cli.start" in (ROOT / "gantt" / "__main__.py").read_text()
