"""A launcher that starts a process on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from gantt.errors import LaunchFailed
from gantt.launch.contract import Work
from gantt.model.selection import Place, Selection

STOP_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""
POLL_S: Final = 0.02
SECRETS: Final = frozenset({"GANTT_TOKEN", "GANTT_URL", "GANTT_COORDINATION_URL"})
"""Variables that give access to the scheduler, which instances must not have."""


class Process:
    """A process that runs, in a session of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        # Then the number of its group may be that of another one: no more signals.
        self._is_gone = False

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def wait(self) -> int:
        """Its exit status, or minus the signal that ended it."""
        status = self._process.wait()
        self._is_gone = self._is_gone or not self._has_group()
        return status

    def stop(self) -> None:
        """SIGTERM to it and its children; SIGKILL where that is not enough, also to
        children that outlive it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_gone:
                return
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            self._wait_for_group()

    def _wait_for_group(self) -> None:
        until = time.monotonic() + STOP_S
        while not self._is_gone and time.monotonic() < until:
            self._process.poll()  # until its status is read, it is in its group
            self._is_gone = not self._has_group()
            if not self._is_gone:
                time.sleep(POLL_S)

    def _has_group(self) -> bool:
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # a member changed its user
            return True
        return True


class ProcessLauncher:
    """Starts ``Work.command`` here; refuses selections of other hosts.

    The process has GANTT_INSTANCE, GANTT_HOST and GANTT_CLAIM in its environment, and
    GANTT_PLACE (the JSON of ``Selection.place``) where the claim names cells, CPUs,
    pages or devices. It is pinned to the CPUs that the claim names, unless some of its
    vCPUs may float; pages and devices are for the command to open. What gives access to
    the scheduler (GANTT_TOKEN, GANTT_URL, GANTT_COORDINATION_URL) is not passed on.
    """

    def __init__(self, host: str | None = None) -> None:
        """``host``: the name of this machine in the books; default: its host name."""
        self._host = host or socket.gethostname()

    def launch(self, selection: Selection, work: Work) -> Process:
        """Raises LaunchFailed where the command cannot be started, or not there."""
        if selection.service_host != self._host:
            raise LaunchFailed(
                f"a process can be started on this machine ({self._host}) alone"
            )
        if not work.command:
            raise LaunchFailed("no command was given")
        try:
            with _on_cpus(pinned_cpus(selection.place)):
                process = subprocess.Popen(  # noqa: S603
                    work.command,
                    env=_environ(selection, work),
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            text = f"{work.command[0]} cannot be started: {reason}"
            raise LaunchFailed(text) from error
        return Process(process)


def pinned_cpus(place: Place | None) -> frozenset[int]:
    """The CPUs of the host that the instance must stay on; empty: any."""
    cells = () if place is None else place.cells
    if any(cell.floating for cell in cells):
        return frozenset()
    pinned = {cpu for cell in cells for _, cpu in cell.pinning}
    return frozenset(pinned.union(*(cell.emulator for cell in cells)))


@contextmanager
def _on_cpus(cpus: frozenset[int]) -> Iterator[None]:
    """What this thread starts meanwhile inherits its CPUs: there is no moment at which
    the process runs elsewhere. Raises LaunchFailed where they do not exist."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        # Linux leaves CPUs out that do not exist, and refuses if none remains.
        with suppress(OSError):
            os.sched_setaffinity(0, cpus)
        missing = cpus - os.sched_getaffinity(0)
        if missing:
            raise LaunchFailed(
                f"the claim names CPUs {_list(cpus)}, and this process may not use "
                f"{_list(missing)}: the machine differs from what its host reported"
            )
        yield
    finally:
        os.sched_setaffinity(0, before)


def _list(cpus: frozenset[int]) -> str:
    return ",".join(map(str, sorted(cpus)))


def _environ(selection: Selection, work: Work) -> dict[str, str]:
    found = {
        **{name: text for name, text in os.environ.items() if name not in SECRETS},
        "GANTT_INSTANCE": work.instance_uuid,
        "GANTT_HOST": selection.service_host,
        "GANTT_CLAIM": selection.claim or "",
    }
    if selection.place is not None:
        found["GANTT_PLACE"] = msgspec.json.encode(selection.place).decode()
    return found
