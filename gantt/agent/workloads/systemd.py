"""systemd units that are named after their instance: gantt-UUID.service, or .scope.

Found in the tree of control groups, where every running unit has a directory that
anyone may read: no bus and no rights are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from gantt.agent.files import Files, cpus_of
from gantt.agent.workloads.contract import Workload
from gantt.model.names import canonical_uuid

ROOTS: Final = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd")
_UNIT: Final = re.compile(r"gantt[-@]([0-9a-fA-F-]{36})\.(?:service|scope)")
_SLICE: Final = re.compile(r".+\.slice")
_DEPTH: Final = 8
_MB: Final = 1024 * 1024


class SystemdWorkloads:
    """Memory is what the unit uses now; pinned CPUs are its AllowedCPUs."""

    def workloads(self, files: Files) -> Iterable[Workload]:
        """One for each unit that runs."""
        found: dict[str, Workload] = {}
        for root in ROOTS:
            for uuid, folder in _units(files, root, _DEPTH):
                found.setdefault(uuid, _workload(files, uuid, folder))
        return found.values()


def _units(files: Files, folder: str, depth: int) -> Iterator[tuple[str, str]]:
    """(instance, directory) of each unit below ``folder``, in whichever slice."""
    for name in files.names(folder):
        match = _UNIT.fullmatch(name)
        uuid = canonical_uuid(match[1]) if match else None
        if uuid is not None:
            yield uuid, f"{folder}/{name}"
        elif depth and _SLICE.fullmatch(name):
            yield from _units(files, f"{folder}/{name}", depth - 1)


def _workload(files: Files, uuid: str, folder: str) -> Workload:
    used = files.number_if_there(f"{folder}/memory.current")
    try:
        cpus = frozenset(cpus_of(files.text_if_there(f"{folder}/cpuset.cpus") or ""))
    except ValueError:
        cpus = frozenset()
    return Workload(
        uuid,
        vcpus=len(cpus) or None,
        memory_mb=None if used is None else -(-used // _MB),
        cpus=cpus,
    )
