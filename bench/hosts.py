"""Hosts that report to a scheduler, and requests for instances, all much alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Lock
from uuid import UUID

from gantt.model.hosts import HostStats
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest

CALLERS = 16

MEMORY_MB = 512  # of an instance


def stats(number: int) -> HostStats:
    """What a host with 64 processors and 256 GB reports."""
    memory = 262_144 + number % 97 * 512
    return HostStats(
        vcpus=64,
        memory_mb=memory,
        local_gb=4000,
        vcpus_used=0,
        memory_mb_used=0,
        local_gb_used=0,
        free_ram_mb=memory,
        free_disk_gb=4000 - number % 13,
        hypervisor_type="QEMU",
        hypervisor_version=8_002_000,
        hypervisor_hostname=f"host{number}",
        cpu_info={},
        supported_instances=[["x86_64", "kvm", "hvm"]],
        stats={"num_instances": "0", "io_workload": "0", "failed_builds": "0"},
    )


def report(library: GanttProtocol, number: int, values: HostStats) -> None:
    """One report of one host."""
    library.update_host(f"host{number}", f"host{number}", values)


def found(library: GanttProtocol, hosts: int) -> None:
    """Let so many hosts report for the first time."""
    with ThreadPoolExecutor(64) as reporters:
        for _ in reporters.map(
            lambda number: report(library, number, stats(number)), range(hosts)
        ):
            pass


class Names:
    """New uuids, quicker than random ones, for many threads."""

    def __init__(self, kind: int) -> None:
        self._start = kind << 96
        self._numbers = count(1)
        self._lock = Lock()

    def take(self) -> str:
        """A new uuid."""
        with self._lock:
            number = next(self._numbers)
        return str(UUID(int=self._start | number))


def spec(group: InstanceGroup | None = None, memory_mb: int = MEMORY_MB) -> RequestSpec:
    """A small instance."""
    flavor = Flavor(vcpus=1, memory_mb=memory_mb, root_gb=1, name="small", flavorid="1")
    return RequestSpec(
        flavor=flavor, project_id="bench", user_id="bench", instance_group=group
    )


def instances(
    names: Names, size: int = 1, memory_mb: int = MEMORY_MB
) -> ScheduleRequest:
    """A request for so many new instances."""
    uuids = tuple(names.take() for _ in range(size))
    return ScheduleRequest(spec(memory_mb=memory_mb), uuids)


def seconds(act: Callable[[], object]) -> float:
    """How long it takes, once."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def per_second(act: Callable[[], object], times: int) -> float:
    """How often ``act`` is done in a second by 16 callers, ``times`` each."""

    def call(_: int) -> None:
        for _ in range(times):
            act()

    with ThreadPoolExecutor(CALLERS) as callers:
        began = time.perf_counter()
        for _ in callers.map(call, range(CALLERS)):
            pass
        return CALLERS * times / (time.perf_counter() - began)
