"""Require exactly the requested disk: for bare metal, which is given out whole.

Today such hosts have a resource class of their own.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import amounts
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class ExactDiskFilter(Filter):
    """The free amount equals the requested one."""

    cacheable = Cacheable(
        needs=("total_disk_gb", "free_disk_mb"),
        reads=("flavor.root_gb", "flavor.ephemeral_gb", "flavor.swap", "is_bfv"),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        found: Bools = hosts.free_disk_mb == amounts.wanted_disk_mb(request.spec)
        return found

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:  # noqa: ARG002
        return {"disk_gb": int(hosts.total_disk_gb[place])}
