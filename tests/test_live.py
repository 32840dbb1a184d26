"""A test that fails must not wait for the process that it has started."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests import live


def test_a_failure_inside_kills_the_process() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    began = time.monotonic()
    with pytest.raises(AssertionError, match="first"), live.ending(sleeper):
        raise AssertionError("first")
    assert sleeper.returncode < 0
    assert time.monotonic() - began < live.STOP_S


def test_a_process_may_end_by_itself() -> None:
    brief = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.1)"])
    with live.ending(brief):
        pass
    assert brief.returncode == 0


def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STOP_S", 0.1)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(subprocess.TimeoutExpired), live.ending(sleeper):
        pass
    assert sleeper.returncode < 0
