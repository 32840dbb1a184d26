"""Gantt's library in this process: a decision is also a claim, in memory or in SQLite
with every commit synced.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from gantt.bench.bench_fleets import NIC, BenchFleet, Fact
from gantt.bench.fleet_setup import facts_of_rows, rows_of
from gantt.bench.workloads import Ask
from gantt.connection import connect
from gantt.engine.gantt import Gantt
from gantt.engine.options import EngineOptions
from gantt.errors import NoValidHost
from gantt.model.spec import Flavor, InstanceGroup, RequestSpec, ScheduleRequest
from gantt.replay.snapshots import of_database
from gantt.scheduler.options import DEFAULT_FILTERS, SchedulerOptions
from gantt.store.snapshot_store import SnapshotStore

TOPOLOGY_FILTERS: Final = ("NUMATopologyFilter", "PciPassthroughFilter")
# Other load on the machine may delay the committer.
_WAIT_S: Final = 60.0
_DEVICE: Final[dict[str, Any]] = {
    "count": 1,
    "request_id": "00000000-0000-4000-a000-000000000001",
    "spec": [NIC],
}


def filters_of(fleet: BenchFleet) -> tuple[str, ...]:
    """The filters that are enabled: those of cells and devices where hosts have any."""
    has_cells = bool(fleet.hosts[0].cells)
    return (*DEFAULT_FILTERS, *(TOPOLOGY_FILTERS if has_cells else ()))


def open_books(url: str, filters: tuple[str, ...]) -> Gantt:
    """An engine on the database at ``url``, made where it is missing."""
    found = connect(url, options=_options(filters), create=True)
    assert isinstance(found, Gantt), url
    return found


def _options(filters: tuple[str, ...]) -> EngineOptions:
    return EngineOptions(
        wait_s=_WAIT_S, scheduler=SchedulerOptions(enabled_filters=filters)
    )


def spec_of(ask: Ask) -> RequestSpec:
    """The request of Nova's scheduler for ``ask``."""
    extra_specs = {"hw:cpu_policy": "dedicated"} if ask.is_pinned else {}
    flavor = Flavor(
        ask.vcpus,
        ask.memory_mb,
        ask.disk_gb,
        name=f"{ask.vcpus}x{ask.memory_mb}",
        flavorid="1",
        extra_specs=extra_specs,
    )
    group = None
    if ask.group >= 0:
        group = InstanceGroup(ask.group_uuid, "anti-affinity")
    return RequestSpec(
        flavor=flavor,
        project_id="bench",
        user_id="bench",
        instance_group=group,
        pci_requests=(_DEVICE,) if ask.is_pinned else (),
        num_instances=ask.count,
    )


class GanttSide:
    """``books``: an engine that holds the fleet already."""

    is_threaded = True

    def __init__(self, name: str, books: Gantt) -> None:
        self.name = name
        self.books = books

    @classmethod
    def in_memory(cls, file: Path, fleet: BenchFleet) -> GanttSide:
        """A copy in memory of the books in ``file``."""
        copy = of_database(f"sqlite:///{file}")
        store = SnapshotStore(copy.cursor, copy.rows)
        return cls("gantt", Gantt(store, _options(filters_of(fleet))))

    def facts(self) -> Iterable[Fact]:
        return facts_of_rows(self.books.read(rows_of))

    def place(self, ask: Ask) -> int:
        if ask.leaves >= 0:
            (consumer,) = Ask(ask.leaves, 0, 0, 0).names
            self.books.delete_allocations(consumer)
        request = ScheduleRequest(spec_of(ask), ask.names)
        try:
            return len(self.books.schedule(request))
        except NoValidHost:
            return 0

    def worked_s(self) -> float:
        return time.process_time()

    def close(self) -> None:
        self.books.close()
