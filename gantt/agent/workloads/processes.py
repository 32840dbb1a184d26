"""Plain processes that carry GANTT_INSTANCE=UUID in their environment.

Children inherit it, so that all processes of an instance count. The environment of
another user's process is readable with CAP_SYS_PTRACE alone, and hidepid or a PID
namespace hides whole processes: the list of instances would then not be whole, and that
is a problem rather than a shorter list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gantt.agent.collectors.cpu import ONLINE
from gantt.agent.collectors.meminfo import KB_PER_MB
from gantt.agent.files import Files, cpus_of
from gantt.agent.workloads.contract import Workload
from gantt.model.names import canonical_uuid

INSTANCE: Final = "GANTT_INSTANCE"
VCPUS: Final = "GANTT_VCPUS"
MEMORY_MB: Final = "GANTT_MEMORY_MB"
DISK_GB: Final = "GANTT_DISK_GB"
_PROC: Final = "/proc"
_FIRST_NAMESPACE: Final = "pid:[4026531836]"
"""PROC_PID_INIT_INO of linux/proc_ns.h: the PID namespace that sees every process."""


class ProcessWorkloads:
    """Amounts are those that GANTT_VCPUS, GANTT_MEMORY_MB and GANTT_DISK_GB say; else
    memory is what is resident, and VCPUs the CPUs that the process is pinned to.

    ``sees_all`` False: of the processes that the agent may ask; others may run."""

    def __init__(self, *, sees_all: bool = True) -> None:
        self.sees_all = sees_all

    def workloads(self, files: Files) -> Iterable[Workload]:
        """One for each instance that has a process."""
        pids = [name for name in files.names(_PROC) if name.isdigit()]
        if self.sees_all:
            _check_sight(files, pids)
        online = files.cpus(ONLINE) if pids else None
        found: dict[str, list[tuple[dict[str, str], str]]] = {}
        hidden = 0
        for pid in pids:
            try:
                environ = _environ(files.read(f"{_PROC}/{pid}/environ"))
                uuid = canonical_uuid(environ.get(INSTANCE, ""))
                if uuid is not None:
                    status = files.read(f"{_PROC}/{pid}/status")
                    found.setdefault(uuid, []).append((environ, status))
            except PermissionError:
                hidden += 1
            except OSError:
                continue  # it has ended meanwhile
        if hidden and self.sees_all:
            files.problem(
                f"{_PROC}/*/environ",
                f"of {hidden} {'process' if hidden == 1 else 'processes'} the "
                f"environment is not readable, where {INSTANCE} may be, so that "
                "not all instances are seen: give the agent CAP_SYS_PTRACE, or name "
                "other sources with --workloads",
            )
        return [_workload(uuid, seen, online) for uuid, seen in found.items()]


def _check_sight(files: Files, pids: list[str]) -> None:
    """A problem where processes of this machine are not visible at all."""
    namespace = files.target(f"{_PROC}/self/ns/pid")
    if "1" not in pids:
        reason = "process 1 is not visible here (hidepid, or another PID namespace)"
    elif namespace not in (None, _FIRST_NAMESPACE):
        reason = "the agent is in a PID namespace of its own"
    else:
        return
    files.problem(
        _PROC,
        f"{reason}, so that not all instances are seen: run the agent where it sees "
        "all processes, or name other sources with --workloads",
    )


def _environ(text: str) -> dict[str, str]:
    pairs = (one.partition("=") for one in text.split("\0"))
    return {name: value for name, separator, value in pairs if separator}


def _workload(
    uuid: str, seen: list[tuple[dict[str, str], str]], online: frozenset[int] | None
) -> Workload:
    """The instance, made of the environment and the status of each of its processes."""
    environ, _ = seen[0]
    pinned: set[int] = set()
    resident_kb = 0
    for _, text in seen:
        status = dict(
            line.split(":\t", 1) for line in text.splitlines() if ":\t" in line
        )
        resident_kb += _number(status.get("VmRSS", "0").split()[0]) or 0
        cpus = _cpus(status.get("Cpus_allowed_list", ""))
        if online is not None and cpus < online:
            pinned |= cpus
    told = _number(environ.get(VCPUS, ""))
    memory_mb = _number(environ.get(MEMORY_MB, ""))
    return Workload(
        uuid,
        told if told is not None else len(pinned) or None,
        memory_mb if memory_mb is not None else -(-resident_kb // KB_PER_MB),
        _number(environ.get(DISK_GB, "")),
        frozenset(pinned),
    )


def _cpus(text: str) -> frozenset[int]:
    try:
        return frozenset(cpus_of(text.strip()))
    except ValueError:
        return frozenset()


def _number(text: str) -> int | None:
    """A whole number; None: there is none, or one that no host has."""
    return int(text) if text.isdecimal() and len(text) < 10 else None
