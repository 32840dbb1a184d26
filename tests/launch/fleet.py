"""A fleet with books, whose hosts can be claimed and launched on."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from gantt.model.commands import Inventory
from gantt.model.forms.stats import read_stats
from gantt.model.protocol import GanttProtocol
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest

HOSTS = ("host-1", "host-2", "host-3")
SPEC = RequestSpec(Flavor(vcpus=1, memory_mb=512), project_id="blue")
LEASE_S = 120.0


def add_hosts(gantt: GanttProtocol, names: Sequence[str] = HOSTS) -> None:
    """Each with more memory than the one before, so that the last is chosen first."""
    for number, name in enumerate(names, 1):
        memory = 8192 * number
        stats = {"vcpus": 8, "memory_mb": memory, "free_ram_mb": memory}
        gantt.update_host(name, name, read_stats(stats))
        uuid = gantt.list_hosts(host=name)[0].provider_uuid
        assert uuid is not None
        inventories = {"VCPU": Inventory(8), "MEMORY_MB": Inventory(memory)}
        gantt.set_inventories(uuid, inventories)


def asked(count: int = 1, lease_s: float | None = LEASE_S) -> ScheduleRequest:
    """A request for new instances."""
    uuids = tuple(str(uuid4()) for _ in range(count))
    return ScheduleRequest(SPEC, uuids, lease_s=lease_s)


def in_use(gantt: GanttProtocol, names: Sequence[str] = HOSTS) -> dict[str, int]:
    """Host -> VCPU in the books, where there are any."""
    found = {}
    for name in names:
        uuid = gantt.list_hosts(host=name)[0].provider_uuid
        assert uuid is not None
        if used := gantt.get_usages(uuid).usages["VCPU"]:
            found[name] = used
    return found


def pending(gantt: GanttProtocol) -> int:
    """Instances that claims stand for."""
    return sum(one.claimed.get("instances", 0) for one in gantt.list_hosts())
