"""Plain Python: a loop over hosts with a function per filter and per weigher, to show
what arrays buy. It decides by the same amounts and rules; it stores nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from gantt.bench.bench_fleets import (
    CARD_CELLS,
    CPU_RATIO,
    BenchFleet,
    Fact,
    Host,
    cards_of,
    cells_of,
)
from gantt.bench.workloads import Ask


class PlainHost:
    """What is left of one host. ``cells``: free CPUs and MB of each NUMA cell;
    ``functions``: free virtual functions near each cell."""

    def __init__(self, host: Host, disks: list[int]) -> None:
        self.host = host
        self.vcpus_used = host.vcpus_used
        self.memory_mb_used = host.memory_mb_used
        self.groups: set[int] = set()
        # A list that the hosts of one pool have in common: GB in all, GB used.
        self.disks = disks
        self.cells = [
            [len(cell["pcpuset"]) - len(cell["pinned_cpus"]), cell["memory"]]
            for cell in cells_of(host)
        ]
        self.functions = {card["numa_node"]: card["count"] for card in cards_of(host)}

    @property
    def free_memory_mb(self) -> int:
        return self.host.memory_mb - self.memory_mb_used

    @property
    def free_vcpus(self) -> float:
        return self.host.vcpus * CPU_RATIO - self.vcpus_used

    def cell_for(self, ask: Ask) -> int | None:
        """A cell with the CPUs, the memory and a function near it."""
        for number in CARD_CELLS:
            cpus, memory_mb = self.cells[number]
            fits = cpus >= ask.vcpus and memory_mb >= ask.memory_mb
            if fits and self.functions[number] > 0:
                return number
        return None


def has_amounts(host: PlainHost, ask: Ask) -> bool:
    total_gb, used_gb = host.disks
    return (
        host.free_vcpus >= ask.vcpus
        and host.free_memory_mb >= ask.memory_mb
        and total_gb - used_gb >= ask.disk_gb
    )


def is_apart(host: PlainHost, ask: Ask) -> bool:
    return ask.group < 0 or ask.group not in host.groups


def has_cell(host: PlainHost, ask: Ask) -> bool:
    return not ask.is_pinned or host.cell_for(ask) is not None


FILTERS: Final[tuple[Callable[[PlainHost, Ask], bool], ...]] = (
    has_amounts,
    is_apart,
    has_cell,
)
WEIGHERS: Final[tuple[Callable[[PlainHost], float], ...]] = (
    lambda host: host.free_memory_mb,
    lambda host: host.free_vcpus,
    lambda host: host.disks[0] - host.disks[1],
)


class PlainSide:
    """All hosts as objects."""

    name = "plain"
    is_threaded = False

    def __init__(self, fleet: BenchFleet) -> None:
        self._pools = [[disk_gb, 0] for disk_gb in fleet.pools]
        self._hosts = [PlainHost(host, self._disks_of(host)) for host in fleet.hosts]
        self._taken: dict[int, tuple[PlainHost, Ask]] = {}

    def facts(self) -> Iterable[Fact]:
        for one in self._hosts:
            host = one.host
            own = one.disks if host.pool < 0 else (0, 0)
            amounts = (host.vcpus, one.vcpus_used, host.memory_mb, one.memory_mb_used)
            yield host.name, (*amounts, *own, sum(one.functions.values()))
        for number, pool in enumerate(self._pools):
            yield f"pool{number}", (0, 0, 0, 0, *pool, 0)

    def place(self, ask: Ask) -> int:
        if ask.leaves >= 0:
            self._give_back(*self._taken.pop(ask.leaves))
        for placed in range(ask.count):
            best = self._best(ask)
            if best is None:
                return placed
            self._take(best, ask)
        return ask.count

    def worked_s(self) -> float:
        return time.process_time()

    def close(self) -> None:
        self._hosts.clear()

    def _disks_of(self, host: Host) -> list[int]:
        if host.pool >= 0:
            return self._pools[host.pool]
        return [host.disk_gb, host.disk_gb_used]

    def _best(self, ask: Ask) -> PlainHost | None:
        passing = [
            host for host in self._hosts if all(one(host, ask) for one in FILTERS)
        ]
        if not passing:
            return None
        weights = [0.0] * len(passing)
        for weigher in WEIGHERS:
            scores = [weigher(host) for host in passing]
            low, high = min(scores), max(scores)
            if high > low:
                for at, score in enumerate(scores):
                    weights[at] += (score - low) / (high - low)
        return passing[weights.index(max(weights))]

    def _take(self, host: PlainHost, ask: Ask) -> None:
        host.vcpus_used += ask.vcpus
        host.memory_mb_used += ask.memory_mb
        host.disks[1] += ask.disk_gb
        if ask.group >= 0:
            host.groups.add(ask.group)
        if ask.is_pinned and (cell := host.cell_for(ask)) is not None:
            host.cells[cell][0] -= ask.vcpus
            host.cells[cell][1] -= ask.memory_mb
            host.functions[cell] -= 1
        self._taken[ask.number] = host, ask

    def _give_back(self, host: PlainHost, ask: Ask) -> None:
        host.vcpus_used -= ask.vcpus
        host.memory_mb_used -= ask.memory_mb
        host.disks[1] -= ask.disk_gb
