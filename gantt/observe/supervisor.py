"""What a program tells the service manager that started it: that it serves, reloads its
configuration, or stops.

The protocol is that of systemd's ``Type=notify`` (sd_notify(3)): a datagram to the
socket that NOTIFY_SOCKET names. Without that variable nothing is told.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOG = logging.getLogger(__name__)

VARIABLE: Final = "NOTIFY_SOCKET"
# A manager that does not read must not hold up the program.
_LONGEST_S: Final = 1.0


class Supervisor:
    """The manager at ``address``: a path, or "@" and an abstract name; "": none.

    A manager that cannot be told is logged, and nothing else: the program serves.
    """

    def __init__(self, address: str = "") -> None:
        self._address = address
        self._is_ready = self._is_stopping = False

    @classmethod
    def of_process(cls) -> Supervisor:
        """That of this process. Its children are not to speak for it: they do not
        inherit the variable."""
        return cls(os.environ.pop(VARIABLE, ""))

    def ready(self, status: str = "serving") -> None:
        """It serves; told once. ``status``: a line for ``systemctl status``."""
        if not self._is_ready and not self._is_stopping:
            self._is_ready = True
            self._tell("READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        """It has begun to stop; told once."""
        if not self._is_stopping:
            self._is_stopping = True
            self._tell("STOPPING=1", "STATUS=draining")

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Meanwhile it reloads. Before it is ready, and while it stops, that is not
        told, since the end of a reload means that it is ready."""
        is_told = self._is_ready and not self._is_stopping
        if is_told:
            now_us = time.monotonic_ns() // 1000
            self._tell("RELOADING=1", f"MONOTONIC_USEC={now_us}")
        try:
            yield
        finally:
            if is_told and not self._is_stopping:
                self._tell("READY=1")

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        name = self._address
        if name.startswith("@"):
            name = f"\0{name[1:]}"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
                speaker.settimeout(_LONGEST_S)
                speaker.sendto("\n".join(lines).encode(), name)
        except OSError as error:
            LOG.warning(
                "The service manager at %s was not told %s: %s",
                self._address,
                lines[0],
                error,
            )
