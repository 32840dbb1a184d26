"""Servers of the tests' own, each a process group in a folder of its own, which both go
with the process that started them.

Separate from what the servers are (databases, brokers).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

# Outlives the process that started a server, and cleans up after it.
GUARD = """
import os, shutil, signal, sys
folder, pid = sys.argv[1], 0
for line in sys.stdin:
    pid = int(line)
if pid and os.path.exists(folder):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(folder, ignore_errors=True)
"""
STOP_S = 30.0


class Missing(Exception):
    """The programs are not installed; says which package brings them."""


class GuardedServer:
    """One server, which may be started again after ``stop`` or ``kill``."""

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, folder: Path | None) -> None:
        """``folder``: where to make its own."""
        # Not under a folder of pytest: those are closed to other users.
        self.folder = Path(tempfile.mkdtemp(prefix=f"gantt-{self.name}-", dir=folder))
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def _spawn(self, **beginning: Any) -> None:
        """``beginning``: what to start, and as whom (``args`` and so on)."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                **beginning,
            )
        self._tell_guard(self._process.pid)

    def _until_it_answers(self, limit_s: float) -> None:
        """Return when it greets clients. Raises AssertionError with its log."""
        deadline = time.monotonic() + limit_s
        while not self._answers():
            assert self.is_running, f"{self.name} ended:\n{self.log[-4000:]}"
            assert time.monotonic() < deadline, f"{self.name}:\n{self.log[-4000:]}"
            time.sleep(0.1)

    def _answers(self) -> bool:
        """Whether it greets clients."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Closes it if what makes it fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._process is not None and self.is_running:
            self._process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to all of it, as when the machine runs out of memory."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_S)

    def close(self) -> None:
        """Stop and remove it, whatever state it is in."""
        self.stop()
        self._tell_guard(0)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._guard.communicate()

    def _tell_guard(self, pid: int) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{pid}\n")
        self._guard.stdin.flush()
