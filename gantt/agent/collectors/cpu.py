"""vcpus and cpu_info: the processors that instances may run on, and what they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, Final

from msgspec import Struct

from gantt.agent.collectors.architecture import CPUINFO, first_processor, machine_of
from gantt.agent.collectors.contract import bounded
from gantt.agent.collectors.traits import is_x86
from gantt.agent.files import Files

ONLINE: Final = "/sys/devices/system/cpu/online"
_FEATURES: Final = ("flags", "Features", "features")
_MODELS: Final = ("model name", "cpu", "uarch")
CPU: Final = "/sys/devices/system/cpu/cpu{number}/topology/{name}"


def usable_processors() -> Collection[int]:
    """Numbers of the processors that the system lets this process use."""
    return os.sched_getaffinity(0)


class CpuCollector(Struct, frozen=True):
    """Counts hardware threads, as Nova counts VCPU. ``processors``: which of this
    machine are offered."""

    processors: Callable[[], Collection[int]] = usable_processors

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"vcpus", "cpu_info"})

    def collect(self, files: Files) -> dict[str, Any]:
        """One VCPU for each usable processor, and ``cpu_info`` as Nova has it."""
        found: dict[str, Any] = {}
        usable = usable_cpus(files, self.processors)
        if usable:
            found["vcpus"] = bounded(len(usable))
        text = files.text(CPUINFO)
        if text is not None:
            info = _info(text, machine_of(files))
            info["topology"] = _shape(files, usable or frozenset())
            found["cpu_info"] = info
        return found


def _info(cpuinfo: str, machine: str | None) -> dict[str, Any]:
    processor = first_processor(cpuinfo)
    features = next((processor[key] for key in _FEATURES if key in processor), "")
    found: dict[str, Any] = {"features": sorted(set(features.split()))}
    if machine is not None:
        found["arch"] = machine
    model = next((processor[key] for key in _MODELS if key in processor), None)
    if model:
        found["model"] = model
    if vendor := processor.get("vendor_id"):
        found["vendor"] = vendor
    bits = processor.get("address sizes", "").split()
    if is_x86(machine or "") and bits and bits[0].isdigit():
        found["maxphysaddr"] = {"mode": "emulate", "bits": int(bits[0])}
    return found


def usable_cpus(
    files: Files, processors: Callable[[], Collection[int]] = usable_processors
) -> frozenset[int] | None:
    """Numbers of the CPUs that are offered: of a recorded tree, all that were online.
    None: that cannot be read."""
    return frozenset(processors()) if files.is_live else files.cpus(ONLINE)


def threads_of(files: Files, number: int) -> frozenset[int]:
    """The CPUs that are threads of the same core, itself included."""
    path = CPU.format(number=number, name="thread_siblings_list")
    text = files.text_if_there(path)
    return frozenset({number}) if text is None else files.cpus(path) or frozenset()


def socket_of(files: Files, number: int) -> int | None:
    """The socket of a CPU; None: unknown."""
    path = CPU.format(number=number, name="physical_package_id")
    socket = files.number_if_there(path)
    return None if socket is None or socket < 0 else socket


def _shape(files: Files, usable: Collection[int]) -> dict[str, int]:
    """Sockets, cores in each, threads of each core."""
    if not usable:
        return {}
    sockets = {socket_of(files, number) for number in usable}
    cores = {min(threads_of(files, number), default=number) for number in usable}
    return {
        "sockets": len(sockets),
        "cores": max(1, len(cores) // len(sockets)),
        "threads": max(1, len(usable) // max(1, len(cores))),
    }
