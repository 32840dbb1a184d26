"""A real ``gantt serve`` on a free loopback port, for tests that need a process.

Generic on purpose: clients talk to it, the crash test kills it under load.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import AnyStr

from gantt.store import schema
from tests.programs import begun

START_S = 60.0
STOP_S = 30.0


@dataclass(frozen=True)
class Live:
    """A service that answers; ``log`` has what it wrote to stdout and stderr."""

    url: str
    database: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> int:
        """Ask it to finish, and wait; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """SIGKILL to the service and its workers, which have a group of their own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)


# Below the ports that the system gives to connections and to whatever asks for any: a
# server that was killed comes back on its own, which none of them must have meanwhile.
_FIRST, _PORTS = 10_000, 22_000
_tried = itertools.count()


def free_port() -> int:
    """A port that is not in use now, and that no other process of these tests is given
    soon."""
    while True:
        port = _FIRST + (os.getpid() * 2003 + next(_tried)) % _PORTS
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def ending(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """It ends by itself, or is told to, within the block; a test that fails before
    kills it, where ``with`` alone would wait for it."""
    with process:
        try:
            yield process
            process.wait(STOP_S)
        finally:
            process.kill()


def program(*arguments: str) -> list[str]:
    """The command line of ``gantt`` under this very Python."""
    return [sys.executable, "-m", "gantt", *arguments]


def spawn(
    database: str,
    log: Path,
    *,
    port: int | None = None,
    options: Sequence[str] = ("--auth", "noauth2"),
    environ: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
) -> Live:
    """Start a service on ``database`` without waiting for it; ``within``: what is put
    before the command."""
    port = port or free_port()
    with log.open("ab") as output:
        serve = program("serve", "--database", database)
        process = begun(
            [*within, *serve, "--listen", f"127.0.0.1:{port}", *options],
            output,
            env={**os.environ, **(environ or {})},
        )
    return Live(f"http://127.0.0.1:{port}", database, process, log)


def start(
    database: str,
    log: Path,
    *,
    port: int | None = None,
    options: Sequence[str] = ("--auth", "noauth2"),
    environ: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
) -> Live:
    """Start a service on ``database``, its tables made, and wait until it answers.

    Raises AssertionError with its log when it ends instead.
    """
    schema.sync(database)
    live = spawn(
        database, log, port=port, options=options, environ=environ, within=within
    )
    try:
        wait_until_up(live)
    except BaseException:
        live.kill()
        raise
    return live


def wait_until_up(live: Live) -> None:
    """Return when the version document is served."""
    address = live.url.removeprefix("http://")
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if live.process.poll() is not None:
            break
        connection = HTTPConnection(address, timeout=5)
        try:
            connection.request("GET", "/")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise AssertionError(f"gantt serve did not come up:\n{live.log.read_text()}")


@contextlib.contextmanager
def served(folder: Path, *, options: Sequence[str] = ()) -> Iterator[Live]:
    """A service on a new SQLite file in ``folder``; stopped at the end."""
    live = start(
        f"sqlite:///{folder / 'gantt.db'}",
        folder / "serve.log",
        options=("--auth", "noauth2", *options),
    )
    try:
        yield live
    finally:
        live.kill()
