"""A fleet of equal hosts, as the feed would have read it."""

from __future__ import annotations

import time
from uuid import NAMESPACE_OID, uuid5

from gantt.model.hosts import Service
from gantt.model.scheduling import SchedulerProtocol
from tests.idle_host import idle

CELL = str(uuid5(NAMESPACE_OID, "cell1"))


def uuid_of(name: str) -> str:
    """The uuid of a host's compute node."""
    return str(uuid5(NAMESPACE_OID, name))


def add_hosts(
    gantt: SchedulerProtocol, *names: str, cell: str | None = CELL, vcpus: int = 8
) -> None:
    """Hosts that are up, with room for ``vcpus`` small instances each."""
    for name in names:
        stats = idle(
            vcpus,
            512 * vcpus,
            10 * vcpus,
            uuid=uuid_of(name),
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
