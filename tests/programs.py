"""A program that is run to its end, and what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any


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


def begun(
    words: Sequence[str | Path], log: IO[Any], **where: Any
) -> subprocess.Popen[bytes]:
    """The process of these words, which goes on. It writes to ``log``, is asked
    nothing, and is the first of a session of its own."""
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **where,
    )
