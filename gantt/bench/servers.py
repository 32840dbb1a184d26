"""A server for one measurement: start it, wait for it, measure its memory, stop it."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 120.0
STOP_S = 15.0


def free_port() -> int:
    """A free port on the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A program that serves the Placement API, as a context manager."""

    def __init__(
        self,
        command: list[str],
        port: int,
        log: Path,
        *,
        workers: int = 1,
        ready_path: str = "/resource_classes",
        environment: dict[str, str] | None = None,
    ) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.start_s = 0.0
        self.database: Path | None = None  # its own copy of a file, if it has one
        self._command = command
        self._log = log
        self._workers = workers
        self._ready_path = ready_path
        self._environment = {**os.environ, **(environment or {})}

    @classmethod
    def gantt(cls, database: Path, ready_path: str = "/resource_classes") -> Self:
        """``gantt serve`` on a database file, beside which its log lies."""
        return cls.gantt_on(
            f"sqlite:///{database}", database.parent, ready_path=ready_path
        )

    @classmethod
    def gantt_on(
        cls,
        url: str,
        folder: Path,
        *,
        workers: int = 1,
        ready_path: str = "/resource_classes",
        **options: str,
    ) -> Self:
        """Starts ``gantt serve`` on the database at ``url``; its log lies in
        ``folder``. ``options``: those of ``[gantt]``."""
        port = free_port()
        command = [
            program("gantt"),
            "serve",
            "--database",
            url,
            "--auth",
            "noauth2",
            "--listen",
            f"127.0.0.1:{port}",
            "--workers",
            str(workers),
        ]
        names = {f"OS_GANTT__{name.upper()}": one for name, one in options.items()}
        log = folder / f"gantt-{port}.log"
        return cls(
            command,
            port,
            log,
            workers=workers,
            ready_path=ready_path,
            environment=names,
        )

    @classmethod
    def upstream(cls, database: Path, most_candidates: int = -1) -> Self:
        """OpenStack Placement on a copy of a database file that Gantt filled, under
        the server program of ``gantt serve`` and with as many threads.

        ``most_candidates``: how many it may generate; -1, its default, is no limit.
        """
        folder = database.with_suffix(".upstream")
        folder.mkdir()
        copy = Path(shutil.copy(database, folder / "placement.db"))
        found = cls.upstream_on(
            f"sqlite:///{copy}", folder, most_candidates=most_candidates
        )
        found.database = copy
        return found

    @classmethod
    def upstream_on(
        cls, url: str, folder: Path, *, workers: int = 1, most_candidates: int = -1
    ) -> Self:
        """Starts upstream's Placement on the database at ``url``; its files lie in
        ``folder``."""
        (folder / "placement.conf").write_text(
            "[placement_database]\n"
            f"connection = {url}\n"
            "[api]\n"
            "auth_strategy = noauth2\n"
            "[placement]\n"
            f"max_allocation_candidates = {most_candidates}\n"
        )
        port = free_port()
        command = [
            program("granian"),
            "--interface",
            "wsgi",
            "--no-ws",
            "--workers",
            str(workers),
            "--blocking-threads",
            "64",
            "--workers-kill-timeout",
            "1",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "placement.wsgi.api:application",
        ]
        environment = {"OS_PLACEMENT_CONFIG_DIR": str(folder)}
        log = folder / "upstream.log"
        return cls(command, port, log, workers=workers, environment=environment)

    def __enter__(self) -> Self:
        began = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command,
                stdout=log,
                stderr=log,
                env=self._environment,
                # Ctrl-C of a terminal is for the caller, who stops it then.
                start_new_session=True,
            )
        try:
            while not self._is_ready():
                is_late = time.perf_counter() - began > START_S
                if is_late or self._process.poll() is not None:
                    log_end = self._log.read_text()[-2000:]
                    raise RuntimeError(f"no server:\n{log_end}")
                time.sleep(0.01)
        except BaseException:  # Ctrl-C as well: the caller has nothing to stop yet
            self._kill()
            raise
        self.start_s = time.perf_counter() - began
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._process.terminate()
            self._process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self._kill()
        except BaseException:  # the program is told once more to end
            self._kill()
            raise

    def _kill(self) -> None:
        """Kill it with its workers, which may be busy with abandoned requests."""
        for pid in family(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        """Its first process."""
        return self._process.pid

    def _is_ready(self) -> bool:
        # A connection made before all listen stays with the workers that do.
        if _listening(self.port) < self._workers:
            return False
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", self._ready_path, headers=HEADERS)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _listening(port: int) -> int:
    """How many sockets on ``port`` wait for connections."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    places = ((line.split()[1], line.split()[3]) for line in lines)
    return sum(at.endswith(f":{port:04X}") and state == "0A" for at, state in places)


HEADERS = {
    "x-auth-token": "admin",
    "openstack-api-version": "placement 1.39",
    "accept": "application/json",
}


def program(name: str) -> str:
    """Programs are those of this environment."""
    return str(Path(sys.executable).with_name(name))


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return [pid]
    return [pid, *(each for child in listed for each in family(int(child)))]


def used_s(pid: int) -> float:
    """Processor time of a process and its descendants."""
    ticks = 0
    for each in family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
