"""Require enough disk, according to host reports.

Nova's filter from before Placement; redundant, because the books decide amounts.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import amounts, overrides
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats

RATIO = "disk_allocation_ratio"


class DiskFilter(Filter):
    """Enough of the host's disk times its allocation ratio is left. The ratio
    is the host's, or the configured one where it reports none."""

    cacheable = Cacheable(
        needs=("total_disk_gb", "free_disk_mb", "disk_ratio"),
        reads=("flavor.root_gb", "flavor.ephemeral_gb", "flavor.swap", "is_bfv"),
        elementwise=True,
    )
    advice = (
        "DiskFilter is redundant: hosts without room are left out before any filter "
        "runs. Take it out of [filter_scheduler] enabled_filters. To leave disk out "
        "of the decision altogether, give DISK_GB a very high allocation ratio."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:  # noqa: ARG002
        """The allocation ratio that counts: float64[n], or one for all."""
        return hosts.disk_ratio

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return amounts.has_disk(
            hosts, self.ratio(hosts, request), amounts.wanted_disk_mb(request.spec)
        )

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:
        allowed = hosts.total_disk_gb * self.ratio(hosts, request)
        return {"disk_gb": int(allowed[place])}


class AggregateDiskFilter(DiskFilter):
    """Judges as DiskFilter does; metadata ``disk_allocation_ratio`` of aggregates, the
    least of them, takes precedence over the host's ratio."""

    cacheable = DiskFilter.cacheable
    advice = (
        "AggregateDiskFilter is redundant: hosts without room are left out before any "
        "filter runs. Give the inventories of DISK_GB the allocation ratio that the "
        "aggregate has, and take the filter out of [filter_scheduler] enabled_filters."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:
        return overrides.numbers(hosts, RATIO, super().ratio(hosts, request))
