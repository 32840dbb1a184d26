"""The socket of a service manager, as NOTIFY_SOCKET names it to a program."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT_S = 60.0


class Manager:
    """``told``: the messages so far, each with its lines."""

    def __init__(self, path: Path) -> None:
        self.told: list[list[str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self.environ = {"NOTIFY_SOCKET": str(path)}

    def until(self, line: str) -> list[str]:
        """The next message with ``line``, for which it waits."""
        deadline = time.monotonic() + WAIT_S
        while True:
            self._socket.settimeout(max(0.0, deadline - time.monotonic()))
            try:
                text = self._socket.recv(4096).decode()
            except TimeoutError:
                raise AssertionError(f"no {line}, only {self.told}") from None
            self.told.append(text.split("\n"))
            if line in self.told[-1]:
                return self.told[-1]

    def close(self) -> None:
        self._socket.close()


@contextmanager
def manager(folder: Path) -> Iterator[Manager]:
    """One that listens in ``folder``."""
    found = Manager(folder / "notify")
    try:
        yield found
    finally:
        found.close()
