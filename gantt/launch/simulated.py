"""A launcher that starts nothing: for tests and for fictitious fleets."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from gantt.errors import LaunchFailed
from gantt.launch.contract import Work
from gantt.model.selection import Selection


class SimulatedWorkload:
    """Ends when it is waited for, or stopped."""

    def __init__(self) -> None:
        self.is_stopped = False

    def wait(self) -> int:
        """0, at once."""
        return 0

    def stop(self) -> None:
        """Remember that it was stopped."""
        self.is_stopped = True


class SimulatedLauncher:
    """Remembers what it was asked to start.

    ``failures``: host -> why every launch there fails. ``hanging``: hosts where a
    launch does not return before ``resumed`` is set.
    """

    def __init__(
        self,
        failures: Mapping[str, str] | None = None,
        hanging: frozenset[str] = frozenset(),
    ) -> None:
        self._failures = dict(failures or {})
        self._hanging = hanging
        self.resumed = threading.Event()
        self._lock = threading.Lock()
        self.asked: list[tuple[Selection, Work]] = []
        self.started: list[SimulatedWorkload] = []

    def launch(self, selection: Selection, work: Work) -> SimulatedWorkload:
        """Raises LaunchFailed on the hosts of ``failures``."""
        host = selection.service_host
        with self._lock:
            self.asked.append((selection, work))
        if host in self._hanging:
            self.resumed.wait()
        if host in self._failures:
            raise LaunchFailed(self._failures[host])
        workload = SimulatedWorkload()
        with self._lock:
            self.started.append(workload)
        return workload
