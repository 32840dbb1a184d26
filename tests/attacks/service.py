"""The attacked service: a real ``gantt serve`` over a fleet, with tokens of an
administrator and of a member of a project, and the memory of its worker."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import gantt
from gantt.model.commands import Inventory, ReshapedProvider
from tests import live

ADMIN, MEMBER = "a-token-of-the-administrator", "a-token-of-a-member"
READER = "a-token-of-a-reader"
UNKNOWN = "a-token-that-is-not-known"
TOKENS = {
    ADMIN: {"user": "admin", "project": "admin", "roles": ["admin"]},
    MEMBER: {"user": "mallory", "project": "m", "roles": ["member", "reader"]},
    READER: {"user": "rita", "project": "m", "roles": ["reader"]},
}
PROVIDERS = 8_000
PER_WRITE = 500
ROOM = {
    "VCPU": Inventory(total=1_000_000),
    "MEMORY_MB": Inventory(total=100_000_000),
    "DISK_GB": Inventory(total=100_000_000),
}
ANSWERED = range(200, 300)
# A service that wants less than this part of a CPU for so long is idle.
IDLE, STEP_S, SOON_S = 0.1, 0.2, 2.0


def provider(number: int) -> str:
    """The uuid of one of the fleet, from 1 on."""
    return str(UUID(int=1 << 96 | number))


def fill(url: str, providers: int = PROVIDERS) -> None:
    """Write a fleet of flat providers through the library."""
    books = gantt.connect(url, create=True)
    numbers = range(1, providers + 1)

    def create(number: int) -> None:
        books.create_provider(f"host-{number:05}", uuid=provider(number))

    # So many wait for the committer at once, which makes batches of that size.
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(create, numbers))
    for first in numbers[::PER_WRITE]:
        part = numbers[first - 1 : first - 1 + PER_WRITE]
        books.reshape([ReshapedProvider(provider(one), 0, ROOM) for one in part], [])
    books.close()


@dataclass(frozen=True)
class Service:
    """A service that answers, and its worker."""

    live: live.Live
    port: int

    @property
    def worker(self) -> int:
        """The process that answers: the child with the largest memory."""
        pid = self.live.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return max(map(int, children), key=lambda one: _memory_mb(one, "VmRSS"))

    def working_clock(self) -> Callable[[], float]:
        """Tells the CPU time that the worker took so far, in seconds. What others on
        the machine do does not move it."""
        # As clock_getcpuclockid(3) has it for a process.
        clock = ~self.worker << 3 | 2
        return lambda: time.clock_gettime(clock)

    def is_settled(self, within_s: float) -> bool:
        """Wait until it does nothing: what clients asked for that left meanwhile is
        still answered. False: it still works then."""
        until, worker = time.monotonic() + within_s, self.worker
        before = _wanted_s(worker)
        while time.monotonic() < until:
            time.sleep(STEP_S)
            now = _wanted_s(worker)
            if abs(now - before) < STEP_S * IDLE:
                return True
            before = now
        return False

    def memory_mb(self) -> float:
        """What the worker has in RAM now."""
        return _memory_mb(self.worker, "VmRSS")

    def peak_mb(self) -> float:
        """The most that it had since ``forget_peak``."""
        return _memory_mb(self.worker, "VmHWM")

    def forget_peak(self) -> None:
        """Let the peak begin with what is in RAM now."""
        Path(f"/proc/{self.worker}/clear_refs").write_text("5")

    def connections(self) -> int:
        """Sockets that the worker has open."""
        found = 0
        for one in Path(f"/proc/{self.worker}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found += str(one.readlink()).startswith("socket:")
        return found

    def log_lines(self) -> list[str]:
        """What it has written; the end of a line is a newline and nothing else."""
        text = self.live.log.read_bytes().decode("utf-8", "surrogateescape")
        return text.removesuffix("\n").split("\n")

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str = ADMIN,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> tuple[int, bytes]:
        """Status and body of an answer over a connection of its own. ``body``: bytes,
        or to be JSON."""
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {
            "x-auth-token": token,
            "openstack-api-version": "placement 1.39",
            **({} if raw is None else {"content-type": "application/json"}),
            **(headers or {}),
        }
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout_s
        )
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, raw, sent)
            # A body that is refused before it is read may not be sent to its end.
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def _wanted_s(pid: int) -> float:
    """The CPU time that its threads took, and for which they waited while other
    programs had the processors."""
    found = 0
    for one in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            took, waited, _ = map(int, (one / "schedstat").read_text().split())
            found += took + waited
    return found / 1e9


def _memory_mb(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0


@contextlib.contextmanager
def attacked(
    folder: Path,
    *,
    fleet: Path | None = None,
    auth: str = "token",
    options: Mapping[str, object] | None = None,
    more: Sequence[str] = (),
    within: Sequence[str] = (),
) -> Iterator[Service]:
    """A service on a copy of ``fleet``, or on empty books, in ``folder``. ``options``:
    further ones of [gantt]; ``more``: further lines of its file; ``within``: put before
    its command."""
    books = folder / "gantt.db"
    if fleet is not None:
        shutil.copy(fleet, books)
    url = f"sqlite:///{books}"
    tokens = folder / "tokens.yaml"
    tokens.write_text(json.dumps(TOKENS))
    tokens.chmod(0o600)
    config = folder / "gantt.conf"
    given = {"tokens_file": tokens, "drain_s": 5, **(options or {})}
    lines = [f"{name} = {value}" for name, value in given.items()]
    config.write_text("\n".join(("[gantt]", *lines, *more)) + "\n")
    port = live.free_port()
    served = live.start(
        url,
        folder / "serve.log",
        port=port,
        options=("--auth", auth, "--config-file", str(config)),
        within=within,
    )
    try:
        yield Service(served, port)
    finally:
        served.kill()


class Renewed:
    """A service that has nothing left to do from an attack before: where it has,
    another takes its place. The arguments are those of ``attacked``."""

    def __init__(self, folder: Path, **arguments: Any) -> None:
        self._folder = folder
        self._arguments = arguments
        self._running = contextlib.ExitStack()
        self._service: Service | None = None

    def __enter__(self) -> Renewed:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def idle(self) -> Service:
        """The same as before, if it is idle soon."""
        if self._service is None or not self._service.is_settled(SOON_S):
            return self.renew()
        return self._service

    def renew(self) -> Service:
        """Another one."""
        self._running.close()
        place = self._running.enter_context(TemporaryDirectory(dir=self._folder))
        self._service = self._running.enter_context(
            attacked(Path(place), **self._arguments)
        )
        return self._service
