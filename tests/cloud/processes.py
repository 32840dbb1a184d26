"""Programs that the cloud consists of: started with a log each, and ended with it.

The programs of OpenStack live in an environment of their own, where Gantt is not
importable (``.venv-cloud``, made by ``scripts/cloud``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.programs import begun

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv-cloud"
# Generous: a build server may run other things beside.
START_S = 240.0
STOP_S = 90.0
SHOWN = 6000


def program(name: str) -> str:
    """A program of OpenStack's environment."""
    return str(ENVIRONMENT / "bin" / name)


def wait_until(
    holds: Callable[[], bool], what: str, *, within_s: float = START_S
) -> None:
    """Return when ``holds``. Raises AssertionError that names ``what`` after
    ``within_s``."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.2)


@dataclass
class Program:
    """One program; ``start`` again after ``stop`` or ``kill``. Its log is kept."""

    name: str
    command: Sequence[str]
    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What it wrote to stdout and stderr."""
        return self.folder / f"{self.name}.log"

    @property
    def tail(self) -> str:
        """The end of its log, under its name."""
        return f"{self.name}:\n{self.log.read_text(errors='replace')[-SHOWN:]}"

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it, without waiting; it ends with this process."""
        # A killed run must leave no cloud behind.
        tied = [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL"]
        with self.log.open("ab") as output:
            self.process = begun(
                [*tied, *self.command],
                output,
                cwd=self.folder,
                env=_environment(self.environ),
            )

    def check(self) -> None:
        """Raises AssertionError with the end of its log when it has ended."""
        assert self.is_running, f"ended: {self.tail}"

    def wait_for(self, text: str, *, after: int = 0, within_s: float = START_S) -> None:
        """Return when ``text`` is in its log behind ``after`` bytes."""

        def said() -> bool:
            self.check()
            return text in self.log.read_bytes()[after:].decode(errors="replace")

        wait_until(said, f"{text!r} from {self.name}", within_s=within_s)

    def wait_for_http(self, port: int, path: str = "/") -> None:
        """Return when it answers anything below 500."""

        def answers() -> bool:
            self.check()
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request("GET", path)
                return connection.getresponse().status < 500
            except (OSError, HTTPException):
                return False
            finally:
                connection.close()

        wait_until(answers, f"an answer from {self.name}")

    def stop(self) -> int:
        """Ask it to end, and wait; its exit status."""
        assert self.process is not None
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_S)
        finally:
            self.kill()

    def send(self, what: signal.Signals) -> None:
        """To it and its workers."""
        assert self.process is not None
        os.killpg(self.process.pid, what)

    def kill(self) -> None:
        """SIGKILL to it and its workers, which have a group of their own."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)


def run(
    *command: str, environ: Mapping[str, str] | None = None, passes: bool = True
) -> str:
    """What a program says that ends by itself; ``passes``: with status 0, or
    AssertionError."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * START_S,
        env=_environment(environ or {}),
    )
    said = f"{done.stdout}\n{done.stderr}"
    assert not passes or done.returncode == 0, (
        f"{' '.join(command)} ended with {done.returncode}:\n{said[-SHOWN:]}"
    )
    return said


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what would lead a program to another cloud or environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OS_", "PYTHON", "GUNICORN_", "VIRTUAL_ENV"))
    }
    return {**kept, **more}
