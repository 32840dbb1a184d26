"""What a side that holds a fleet must tell."""

from __future__ import annotations

from collections.abc import Iterator

from gantt.bench.bench_fleets import CARD_CELLS, VFS, BenchFleet, Fact


def facts_of(fleet: BenchFleet) -> Iterator[Fact]:
    """Of each host and pool of ``fleet``."""
    for host in fleet.hosts:
        amounts = (host.vcpus, host.vcpus_used, host.memory_mb, host.memory_mb_used)
        functions = len(CARD_CELLS) * VFS if host.cells else 0
        yield host.name, (*amounts, host.disk_gb, host.disk_gb_used, functions)
    for number, disk_gb in enumerate(fleet.pools):
        yield f"pool{number}", (0, 0, 0, 0, disk_gb, 0, 0)
