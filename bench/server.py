"""A server of our own for one measurement: started, waited for, weighed, stopped."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

PATIENCE_S = 120.0
KB_PER_MB = 1024


def free_port() -> int:
    """A port on the loopback address that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """``gantt serve`` on a database file, as a context manager."""

    def __init__(self, database: Path, ready_path: str = "/resource_classes") -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start_s = 0.0
        self._ready_path = ready_path
        self._log = database.with_suffix(".log")
        program = Path(sys.executable).with_name("gantt")
        self._command = [
            *(str(program), "serve"),
            *("--database", f"sqlite:///{database}"),
            *("--listen", f"127.0.0.1:{self.port}"),
            *("--auth", "noauth2"),
        ]

    def __enter__(self) -> Server:
        began = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        while not self._is_ready():
            if self._process.poll() is not None or (
                time.perf_counter() - began > PATIENCE_S
            ):
                self._process.kill()
                raise RuntimeError(f"no server:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.01)
        self.start_s = time.perf_counter() - began
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def resident_mb(self) -> float:
        """Memory of the server's processes that is in RAM; a page that several of
        them share counts once."""
        return sum(_resident_kb(pid) for pid in _family(self._process.pid)) / KB_PER_MB

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", self._ready_path, headers=HEADERS)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


HEADERS = {
    "x-auth-token": "admin",
    "openstack-api-version": "placement 1.39",
    "accept": "application/json",
}


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in listed for each in _family(int(child)))]


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0
