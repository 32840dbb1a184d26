"""Decisions that fit an instance to NUMA cells and devices, in this process.

Every host has four cells of sixteen threads, some in use, and eight VFs near two of
them; an instance asks for four dedicated CPUs and one VF. Peer is Nova's own
NUMATopologyFilter and PciPassthroughFilter, without its databases, Placement and
weighers.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

from msgspec.structs import replace

import gantt
from bench import hosts
from bench.report import Row, compared, say
from gantt.bench.figures import duration
from gantt.bench.fleets import NIC, Host, cards_of, cells_of, fleet_of
from gantt.bench.gantt_side import TOPOLOGY_FILTERS
from gantt.bench.workloads import asks
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.model.hosts import HostStats
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions

SIZE = 10_000
CELLS, CORES, CELL_MB = 4, 8, 65_536
CPUS, MEMORY_MB = 4, 4_096  # of an instance
NOVA_ROUNDS = 2  # of half a minute each with 10,000 hosts

DURABLE_PER_S, WARM_S, COLD_S, NOVA_TIMES = 500, 0.002, 0.020, 200
TIMES = 125  # requests of each caller
SINGLE = 200  # decisions of which the median is taken

OPTIONS = EngineOptions(
    wait_s=30.0,  # other load on the machine may delay the committer
    scheduler=SchedulerOptions(enabled_filters=(*DEFAULT_FILTERS, *TOPOLOGY_FILTERS)),
)


def measure(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of this suite; ``folder`` is for databases."""
    size = int(SIZE * scale)
    fleet = f"{size:,} hosts of {CELLS} cells, {CPUS} dedicated CPUs and a VF"
    say(f"topology: {size:,} hosts on a disk ...")
    with _library(f"sqlite:///{folder / 'cells.db'}", size) as library:
        names = hosts.Names(1)
        rate = hosts.per_second(lambda: library.schedule(_request(names)), TIMES)
        yield Row(
            f"{fleet}: {hosts.CALLERS} callers, claims durable (SQLite FULL)",
            f"≥ {DURABLE_PER_S:,}/s",
            f"{rate:,.0f}/s",
            is_met=rate >= DURABLE_PER_S,
        )
        yield _time(f"{fleet}: warm, before its commit, p50", WARM_S, library, names)
        yield _time(f"{fleet}: cold, before its commit, p50", COLD_S, library, names)
        say(f"topology: Nova's filters on {size:,} hosts ...")
        # Imported late because it is large.
        from gantt.bench.nova_side import NovaSide

        side = NovaSide(fleet_of("nested", size, is_mixed=False))
        taken = [
            hosts.seconds(partial(side.place, ask))
            for ask in islice(asks("pinned"), 1 + NOVA_ROUNDS)
        ]
        yield compared(
            f"{fleet}: a durable decision, and Nova's two filters on warm host states",
            NOVA_TIMES,
            1 / rate,
            median(taken[1:]),
        )


@contextmanager
def _library(url: str, size: int) -> Iterator[Gantt]:
    """A scheduler of so many hosts, all of which have reported."""
    library = gantt.connect(url, options=OPTIONS, create=True)
    assert isinstance(library, Gantt), url
    try:
        with ThreadPoolExecutor(64) as reporters:
            for _ in reporters.map(
                lambda number: hosts.report(library, number, _stats(number)),
                range(size),
            ):
                pass
        library.schedule(_request(hosts.Names(9)))
        yield library
    finally:
        library.close()


def _stats(number: int) -> HostStats:
    return replace(
        hosts.stats(number),
        numa_topology={"cells": cells_of(_host(number))},
        pci_stats=cards_of(_host(number)),
    )


def _host(number: int) -> Host:
    return Host(number, 2 * CELLS * CORES, CELLS * CELL_MB, 4_000, cells=CELLS)


def spec(memory_mb: int = MEMORY_MB) -> RequestSpec:
    """A pinned instance with one device."""
    extra = {"hw:cpu_policy": "dedicated"}
    flavor = Flavor(
        vcpus=CPUS,
        memory_mb=memory_mb,
        root_gb=1,
        name="pinned",
        flavorid="2",
        extra_specs=extra,
    )
    device = {
        "count": 1,
        "request_id": "00000000-0000-4000-a000-000000000001",
        "spec": [NIC],
    }
    return RequestSpec(
        flavor=flavor, project_id="bench", user_id="bench", pci_requests=(device,)
    )


def _request(names: hosts.Names, memory_mb: int = MEMORY_MB) -> ScheduleRequest:
    return ScheduleRequest(spec(memory_mb), (names.take(),))


def _time(work: str, goal: float, library: Gantt, names: hosts.Names) -> Row:
    """How long a decision takes; sizes never asked for before if the goal is cold."""
    is_warm = goal == WARM_S
    for number in range(SINGLE):
        library.schedule(_request(names, MEMORY_MB if is_warm else 1_024 + number))
    records = library.decisions(limit=SINGLE)
    found = median(record.timings["decide"] for record in records)
    return Row(work, f"≤ {duration(goal)}", duration(found), is_met=found <= goal)
