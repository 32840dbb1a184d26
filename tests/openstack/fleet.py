"""A fleet of equal hosts, as the feed would have read it."""

from __future__ import annotations

import time
from uuid import NAMESPACE_OID, uuid5

from gantt.model.hosts import HostStats, Service
from gantt.model.scheduling import SchedulerProtocol

CELL = str(uuid5(NAMESPACE_OID, "cell1"))


def uuid_of(name: str) -> str:
    """The uuid of a host's compute node."""
    return str(uuid5(NAMESPACE_OID, name))


def add_hosts(
    gantt: SchedulerProtocol, *names: str, cell: str | None = CELL, vcpus: int = 8
) -> None:
    """Hosts that are up, with room for ``vcpus`` small instances each."""
    for name in names:
        stats = HostStats(
            uuid=uuid_of(name),
            vcpus=vcpus,
            memory_mb=512 * vcpus,
            local_gb=10 * vcpus,
            vcpus_used=0,
            memory_mb_used=0,
            local_gb_used=0,
            free_disk_gb=10 * vcpus,
            free_ram_mb=512 * vcpus,
            hypervisor_type="fake",
            cpu_allocation_ratio=1.0,
            ram_allocation_ratio=1.0,
            disk_allocation_ratio=1.0,
        )
        gantt.update_host(name, name, stats)
        gantt.update_service(
            Service(
                host=name,
                disabled=False,
                forced_down=False,
                last_seen_up=int(time.time() * 1e6),
                cell_uuid=cell,
                version=66,
            )
        )
