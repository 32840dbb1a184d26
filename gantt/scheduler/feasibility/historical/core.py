"""Require enough VCPUs, according to host reports.

Nova's filter from before Placement; redundant, because the books decide amounts.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import amounts, overrides
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Floats

RATIO = "cpu_allocation_ratio"


class CoreFilter(Filter):
    """Enough of the host's VCPUs times its allocation ratio is left. The ratio
    is the host's, or the configured one where it reports none."""

    cacheable = Cacheable(
        needs=("vcpus_total", "vcpus_used", "cpu_ratio"),
        reads=("flavor.vcpus",),
        elementwise=True,
    )
    advice = (
        "CoreFilter is redundant: hosts without room are left out before any filter "
        "runs. Take it out of [filter_scheduler] enabled_filters. To leave VCPUs out "
        "of the decision altogether, give VCPU a very high allocation ratio."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:  # noqa: ARG002
        """The allocation ratio that counts: float64[n], or one for all."""
        return hosts.cpu_ratio

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return amounts.has_vcpus(
            hosts, self.ratio(hosts, request), request.spec.flavor.vcpus
        )

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:
        allowed = hosts.vcpus_total * self.ratio(hosts, request)
        limit = int(allowed[place])
        return {"vcpu": limit} if limit > 0 else {}


class AggregateCoreFilter(CoreFilter):
    """Judges as CoreFilter does; metadata ``cpu_allocation_ratio`` of aggregates, the
    least of them, takes precedence over the host's ratio."""

    cacheable = CoreFilter.cacheable
    advice = (
        "AggregateCoreFilter is redundant: hosts without room are left out before any "
        "filter runs. Give the inventories of VCPU the allocation ratio that the "
        "aggregate has, and take the filter out of [filter_scheduler] enabled_filters."
    )

    def ratio(self, hosts: Hosts, request: Request) -> float | Floats:
        return overrides.numbers(hosts, RATIO, super().ratio(hosts, request))
