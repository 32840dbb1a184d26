"""A program that is run to its end, and what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def captured(
    words: Sequence[str | Path], **where: Any
) -> subprocess.CompletedProcess[str]:
    """The program of these words, whatever its status, and all that it wrote.
    ``where``: as of ``subprocess.run``."""
    pipe = subprocess.PIPE
    return subprocess.run(
        words, **{"stdout": pipe, "stderr": pipe, "text": True, **where}
    )


def printed(words: Sequence[str | Path], **where: Any) -> str:
    """What it prints. Raises AssertionError with all that it wrote if it fails."""
    done = captured(words, **where)
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
    return done.stdout
