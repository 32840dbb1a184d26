"""Packing: which CPUs of a host cell carry the pinned CPUs of an instance cell.

The free threads of each core are a mask. A policy says how many threads of a core may
be used together; the most are tried first, so that an instance gets whole cores and
leaves whole cores to others. Facts: nova-scheduler 11.3.
"""

from __future__ import annotations

from msgspec import Struct

from gantt.model.cpu_sets import mask_of, numbers_of
from gantt.model.topology import Cpus, FitLack, HostCell, InstanceCell


class Packing(Struct, frozen=True):
    """``pinning``: (vCPU, CPU) by ascending vCPU; ``emulator``: CPUs left for it."""

    pinning: tuple[tuple[int, int], ...] = ()
    emulator: Cpus = 0


def free_cpus(host: HostCell) -> Cpus:
    """CPUs of the cell that nothing is pinned to."""
    return host.pcpus & ~host.pinned


def cores_with(host: HostCell, cpus: Cpus) -> Cpus:
    """``cpus`` and their siblings among those that may be pinned."""
    whole = cpus
    for core in host.siblings:
        if core & cpus:
            whole |= core & host.pcpus
    return whole


def threads_per_core(host: HostCell) -> int:
    return max(map(int.bit_count, host.siblings), default=1)


def pack(host: HostCell, cell: InstanceCell, reserved: int = 0) -> Packing | FitLack:
    """CPUs for ``cell.pcpus``, and ``reserved`` more for the emulator.

    The caller has seen that enough CPUs are free: what can lack here are siblings, or
    whole cores.
    """
    free = free_cpus(host)
    if host.siblings:
        cores = [core & free for core in host.siblings if core & free]
    else:
        cores = [1 << cpu for cpu in numbers_of(free)]
    wanted = cell.pcpus.bit_count()
    if not wanted and (cell.threads == "isolate" or reserved):
        # Of a mixed instance: computes of Nova refuse it, whatever is free.
        return FitLack("siblings", 1, 0, "CPUs", host.id, "to isolate")
    if cell.threads == "isolate":
        return _isolated(host, cell, cores, reserved)
    least = 2 if cell.threads == "require" else 1
    most = max((core.bit_count() for core in cores), default=0)
    for together in range(most, least - 1, -1):
        used = _first_threads(cores, together, wanted)
        if used is not None:
            return _packed(cell, used, cores, reserved)
    if least == 1:
        return _packed(cell, _every_thread(cores, wanted), cores, reserved)
    return _lack_of_siblings(host, cell, cores, most)


def _isolated(
    host: HostCell, cell: InstanceCell, cores: list[Cpus], reserved: int
) -> Packing | FitLack:
    """One thread each of cores that are wholly free; their other threads stay idle."""
    threads = threads_per_core(host)
    wanted = cell.pcpus.bit_count()
    whole = [core for core in cores if core.bit_count() == threads]
    if threads > 1 and host.pcpus != host.cpus:
        # Hosts with CPUs of their own for pinning have no idle threads to give away.
        whole = []
    used = _first_threads([core & -core for core in whole], 1, wanted)
    if used is None:
        return FitLack("siblings", wanted, len(whole), "free cores", host.id, "isolate")
    # The emulator's CPU takes its siblings with it, too: none may be in use.
    busy = cores_with(host, mask_of(used) | host.pinned)
    return _packed(cell, used, [core for core in cores if not core & busy], reserved)


def _first_threads(cores: list[Cpus], together: int, wanted: int) -> list[int] | None:
    """The first ``wanted`` CPUs, ``together`` of each core that has so many; None: too
    few such cores."""
    used: list[int] = []
    for core in cores:
        if len(used) >= wanted:
            break
        if core.bit_count() >= together:
            rest = core
            for _ in range(together):
                lowest = rest & -rest
                used.append(lowest.bit_length() - 1)
                rest ^= lowest
    return used[:wanted] if len(used) >= wanted else None


def _every_thread(cores: list[Cpus], wanted: int) -> list[int]:
    return [cpu for core in cores for cpu in numbers_of(core)][:wanted]


def _packed(
    cell: InstanceCell, used: list[int], cores: list[Cpus], reserved: int
) -> Packing | FitLack:
    emulator = 0
    if reserved:
        taken = mask_of(used)
        left = [cpu for core in cores for cpu in numbers_of(core & ~taken)]
        if len(left) < reserved:
            asked = len(used) + reserved
            has = len(used) + len(left)
            return FitLack("siblings", asked, has, "CPUs", detail="emulator threads")
        emulator = mask_of(left[:reserved])
    return Packing(tuple(zip(numbers_of(cell.pcpus), used, strict=True)), emulator)


def _lack_of_siblings(
    host: HostCell, cell: InstanceCell, cores: list[Cpus], most: int
) -> FitLack:
    """How many CPUs the best number of threads per core gives: less than asked."""
    counts = [core.bit_count() for core in cores]
    best = (
        together * sum(count >= together for count in counts)
        for together in range(2, most + 1)
    )
    asked = cell.pcpus.bit_count()
    return FitLack("siblings", asked, max(best, default=0), "CPUs", host.id, "require")
