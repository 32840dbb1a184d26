"""An nginx and a haproxy of the tests' own, with what a guide shows in their
configuration."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final

from tests.guarded import Missing
from tests.live import STOP_S

START_S: Final = 30.0
# All that it writes is in its folder.
AROUND: Final = """\
daemon off;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{}
}}
"""


class _Installed:
    """A program; tests that need it mark themselves with server(NAME)."""

    name: ClassVar[str]
    program: ClassVar[Path]

    @classmethod
    def find(cls) -> Path:
        """Where it is. Raises Missing."""
        if not os.access(cls.program, os.X_OK):
            raise Missing(f"{cls.name}: no {cls.program} here; install {cls.name}")
        return cls.program


class Nginx(_Installed):
    name = "nginx"
    program = Path("/usr/sbin/nginx")


class Haproxy(_Installed):
    name = "haproxy"
    program = Path("/usr/sbin/haproxy")


def proxy(folder: Path, port: int, shown: str) -> AbstractContextManager[None]:
    """nginx listens on this port meanwhile, as ``shown`` says."""
    (folder / "nginx.conf").write_text(AROUND.format(shown))
    command = [str(Nginx.find()), "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]
    return _running(command, folder, port)


def balancer(folder: Path, port: int, shown: str) -> AbstractContextManager[None]:
    """The same of haproxy; only root can have it run as another user."""
    if os.geteuid() != 0:
        shown = re.sub(r"^ +(user|group) haproxy\n", "", shown, flags=re.MULTILINE)
    (folder / "haproxy.cfg").write_text(shown)
    return _running([str(Haproxy.find()), "-db", "-f", "haproxy.cfg"], folder, port)


@contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=folder)
    try:
        give_up = time.monotonic() + START_S
        while not _listens(port):
            assert process.poll() is None, f"{command[0]} has ended"
            assert time.monotonic() < give_up, f"{command[0]} does not listen"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(STOP_S)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False
