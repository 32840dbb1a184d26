"""Require exactly the requested VCPUs: for bare metal, which is given out whole.

Today such hosts have a resource class of their own.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class ExactCoreFilter(Filter):
    """The free amount equals the requested one."""

    cacheable = Cacheable(
        needs=("vcpus_total", "vcpus_used"), reads=("flavor.vcpus",), elementwise=True
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        total = hosts.vcpus_total
        # A host that does not count its VCPUs cannot be known to match.
        found: Bools = (total - hosts.vcpus_used == request.spec.flavor.vcpus) & (
            total != 0
        )
        return found

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, int]:  # noqa: ARG002
        return {"vcpu": int(hosts.vcpus_total[place])}
