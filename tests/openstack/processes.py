"""Real processes of ``gantt scheduler`` on a private message bus."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gantt.connection import connect
from gantt.store import schema
from tests.live import program
from tests.openstack import fleet
from tests.programs import begun

START_S = 60.0
STOP_S = 60.0


class Scheduler:
    """A process, and the file that it logs to."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    @classmethod
    def running(cls, arguments: Sequence[str], log: Path) -> Scheduler:
        """``gantt`` with these arguments."""
        with log.open("ab") as output:
            process = begun(program(*arguments), output)
        return cls(process, log)

    @property
    def text(self) -> str:
        """What it has logged."""
        return self.log.read_text()

    def wait_for(self, text: str, times: int = 1) -> None:
        """Until the log has ``text`` so often."""
        deadline = time.monotonic() + START_S
        while self.text.count(text) < times:
            assert self.process.poll() is None, f"it ended:\n{self.text}"
            assert time.monotonic() < deadline, f"no {text!r} in\n{self.text}"
            time.sleep(0.05)

    def workers(self) -> list[int]:
        """Pids of the processes that serve; a child that does not run its own program
        yet may become the resource tracker, and is left out."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [
            int(child)
            for child in children
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
        ]

    def send(self, number: signal.Signals) -> None:
        """To its parent process."""
        self.process.send_signal(number)

    def stop(self) -> int:
        """Ask it to drain; its exit status."""
        if self.process.poll() is None:
            self.send(signal.SIGTERM)
        return self.process.wait(STOP_S)

    def kill(self) -> None:
        """SIGKILL to all of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)


@contextlib.contextmanager
def scheduler(
    folder: Path,
    url: str,
    books: str,
    *options: str,
    host: str = "one",
    workers: int = 1,
    more: str = "",
) -> Iterator[Scheduler]:
    """One that serves, with a ``nova.conf`` of its own, which ends with ``more``;
    killed at the end."""
    conf = folder / f"{host}.conf"
    conf.write_text(
        f"[DEFAULT]\nhost = {host}\ntransport_url = {url}\nservice_down_time = 86400\n"
        + more
    )
    command = ("scheduler", "--config-file", str(conf), "--database", books)
    running = Scheduler.running(
        [*command, "--workers", str(workers), *options], folder / f"{host}.log"
    )
    try:
        running.wait_for("Serving as scheduler", workers)
        yield running
    finally:
        running.kill()


def new_books(folder: Path, hosts: int, vcpus: int = 64) -> str:
    """The URL of books with so many hosts."""
    url = f"sqlite:///{folder / 'books.db'}"
    schema.sync(url)
    with contextlib.closing(connect(url)) as books:
        fleet.add_hosts(books, *(f"host{n}" for n in range(hosts)), vcpus=vcpus)
    return url
