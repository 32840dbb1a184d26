"""Require enough memory, according to host reports.

Nova's filter from before Placement; redundant, because the books decide amounts.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import amounts, overrides
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats

RATIO = "ram_allocation_ratio"


class RamFilter(Filter):
    """Enough of the host's memory times its allocation ratio is left. The ratio
    is the host's, or the configured one where it reports none."""

    cacheable = Cacheable(
        needs=("total_ram_mb", "free_ram_mb", "ram_ratio"),
        reads=("flavor.memory_mb",),
        elementwise=True,
    )
    advice = (
        "RamFilter is redundant: hosts without room are left out before any filter "
        "runs. Take it out of [filter_scheduler] enabled_filters. To leave memory out "
        "of the decision altogether, give MEMORY_MB a very high allocation ratio."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:  # noqa: ARG002
        """The allocation ratio that counts: float64[n], or one for all."""
        return hosts.ram_ratio

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return amounts.has_ram(
            hosts, self.ratio(hosts, request), request.spec.flavor.memory_mb
        )

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:
        allowed = hosts.total_ram_mb * self.ratio(hosts, request)
        return {"memory_mb": int(allowed[place])}


class AggregateRamFilter(RamFilter):
    """Judges as RamFilter does; metadata ``ram_allocation_ratio`` of aggregates, the
    least of them, takes precedence over the host's ratio."""

    cacheable = RamFilter.cacheable
    advice = (
        "AggregateRamFilter is redundant: hosts without room are left out before any "
        "filter runs. Give the inventories of MEMORY_MB the allocation ratio that the "
        "aggregate has, and take the filter out of [filter_scheduler] enabled_filters."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:
        return overrides.numbers(hosts, RATIO, super().ratio(hosts, request))
