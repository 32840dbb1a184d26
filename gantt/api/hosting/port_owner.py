"""Finds the program that listens on a wanted port: another Gantt, or something else.

Uses the standard library alone, so that ``scripts/run`` can call it before anything is
installed: ``port_owner.py HOST PORT PID_FILE`` exits with 0 if the port is free, 3 if
the Gantt of that process serves on it, else 1.
"""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 2.0
PROC = Path("/proc")
_LISTENS = "0A"
_SERVER = "granian"  # the name of the processes of a server
_MOST = 1 << 20  # bytes read of an answer


class PortOwner(NamedTuple):
    """``is_gantt``: whether it answers as one. ``pid`` 0: not visible to this user;
    then ``program`` and ``folder`` are empty."""

    url: str
    is_gantt: bool
    pid: int = 0
    program: str = ""
    folder: str = ""

    def __str__(self) -> str:
        """A sentence for messages."""
        facts = [f"process {self.pid}"] if self.pid else []
        facts += [self.program] if self.program and not self.is_gantt else []
        facts += [f"started in {self.folder}"] if self.folder else []
        known = f" ({', '.join(facts)})" if facts else ""
        if self.is_gantt:
            return f"Gantt is already running on {self.url}{known}."
        return f"Another program uses {self.url}{known}."

    def ending(self, port: int) -> str:
        """What to stop, as far as is visible to this user."""
        if self.pid:
            return f"process {self.pid} (kill {self.pid})"
        return f"its process (as root, ss -ltnp 'sport = :{port}' names it)"


def is_taken(host: str, port: int) -> bool:
    """Whether another program listens on the address. Raises OSError where binding
    fails for another reason."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
            raise
    return False


def port_owner(host: str, port: int) -> PortOwner:
    """The program that listens there, as far as it is visible to this user."""
    shown = f"[{host}]" if ":" in host else host
    pid = _server_of(_pid_of(port))
    return PortOwner(
        f"http://{shown}:{port}",
        _answers_as_gantt(host, port),
        pid,
        _name_of(pid) if pid else "",
        _folder_of(pid) if pid else "",
    )


def _answers_as_gantt(host: str, port: int) -> bool:
    """Whether it serves the open document that only Gantt has."""
    wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - is not bound
    connection = HTTPConnection(wildcard.get(host, host), port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/gantt/openapi.json")
        found = json.loads(connection.getresponse().read(_MOST))
        return bool(found["info"]["title"].startswith("Gantt"))
    except (OSError, HTTPException, ValueError, LookupError, AttributeError, TypeError):
        return False
    finally:
        connection.close()


def _pid_of(port: int) -> int:
    """The process that listens on ``port``, not the workers that it started; 0: not
    visible."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    found: set[int] = set()
    for folder in PROC.glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            if any(_target(entry) in wanted for entry in folder.iterdir()):
                found.add(int(folder.parent.name))
    return min((pid for pid in found if _parent_of(pid) not in found), default=0)


def _server_of(pid: int) -> int:
    """The parent of a worker, which has the same name; else the process itself."""
    parent = _parent_of(pid)
    name = _name_of(pid)
    return parent if name and name == _name_of(parent) and name == _SERVER else pid


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""


def _parent_of(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _inodes(port: int) -> set[str]:
    found = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (PROC / "net" / name).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
                    found.add(words[9])
    return found


def _name_of(pid: int) -> str:
    """The name of a process, which a server may have changed."""
    try:
        text = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    return Path((text.replace("\0", " ").split() or [""])[0]).name


def _folder_of(pid: int) -> str:
    try:
        return str((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return ""


def main(host: str, port: int, pid_file: Path) -> int:
    """For ``scripts/run``: print what is there. Returns the exit status."""
    if not is_taken(host, port):
        return 0
    found = port_owner(host, port)
    if found.is_gantt and found.pid and _pid_in(pid_file) == found.pid:
        print(f"{found} Stop it with: kill {found.pid}")
        return 3
    print(found, file=sys.stderr)
    print(f"Stop {found.ending(port)}, or take another port:", file=sys.stderr)
    print(f"  make run PORT={port + 1}", file=sys.stderr)
    return 1


def _pid_in(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
