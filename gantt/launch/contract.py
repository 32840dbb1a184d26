"""The interface of a launcher: it starts one instance on the host that was selected.

Separate so that a plug-in needs nothing else of this package: a class without
arguments, under an entry point of ``gantt.launchers``.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from gantt.model.selection import Selection
from gantt.model.spec import RequestSpec


class Work(Struct, frozen=True):
    """What is to be started. ``command``: of a process; empty where the launcher knows
    by ``spec`` what an instance is."""

    instance_uuid: str
    spec: RequestSpec
    command: tuple[str, ...] = ()


class StartedInstance(Protocol):
    """An instance that was started."""

    def wait(self) -> int:
        """Return when it has ended: its exit status, 0 for success."""

    def stop(self) -> None:
        """End it, and return when it has ended; one that has ended is no error."""


Workload = StartedInstance
"""The former name, for programs that import it."""


class Launcher(Protocol):
    """Starts instances. Called from several threads at once."""

    def launch(self, selection: Selection, work: Work) -> StartedInstance:
        """Start ``work`` on the host of ``selection``, which is claimed, and return
        once it runs. Where ``selection.place`` is set, the instance must use these
        CPUs, pages and devices. Whatever this raises is a failed launch, after which
        nothing may be left running; LaunchFailed says why in words. One that returns
        after its time is up is stopped at once."""
