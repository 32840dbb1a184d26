"""Limit instances per host."""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class NumInstancesFilter(Filter):
    """The host has fewer than ``max_instances_per_host`` instances, pending claims
    included."""

    cacheable = Cacheable(needs=("num_instances",), reads=(), elementwise=True)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask: Bools = hosts.num_instances < request.options.max_instances_per_host
        return mask
