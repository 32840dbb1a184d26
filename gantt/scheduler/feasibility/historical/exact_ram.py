"""Require exactly the requested memory: for bare metal, which is given out whole.

Today such hosts have a resource class of their own.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class ExactRamFilter(Filter):
    """The free amount equals the requested one."""

    cacheable = Cacheable(
        needs=("total_ram_mb", "free_ram_mb"),
        reads=("flavor.memory_mb",),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        found: Bools = hosts.free_ram_mb == request.spec.flavor.memory_mb
        return found

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:  # noqa: ARG002
        return {"memory_mb": int(hosts.total_ram_mb[place])}
