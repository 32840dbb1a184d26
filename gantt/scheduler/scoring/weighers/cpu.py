"""Prefer hosts with more free VCPUs, which spreads instances.

A negative multiplier fills hosts up instead.
"""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class CPUWeigher(Weigher):
    """The score is the free VCPUs that the allocation ratio allows."""

    cacheable = Cacheable(
        needs=("vcpus_total", "vcpus_used", "cpu_ratio"), reads=(), elementwise=True
    )
    option = "cpu_weight_multiplier"
    minval = 0.0

    def score(self, hosts: Hosts, request: Request) -> Floats:  # noqa: ARG002
        scores: Floats = hosts.vcpus_total * hosts.cpu_ratio - hosts.vcpus_used
        return scores
