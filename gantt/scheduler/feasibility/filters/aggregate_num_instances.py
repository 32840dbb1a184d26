"""Limit instances per host, with limits set by aggregates."""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

KEY = "max_instances_per_host"


class AggregateNumInstancesFilter(Filter):
    """Limits instances as NumInstancesFilter does, with the limit from aggregate
    metadata, if any."""

    cacheable = Cacheable(needs=("num_instances",), reads=(), elementwise=True)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        default = request.options.max_instances_per_host
        mask: Bools = hosts.num_instances < aggregate_values.least(hosts, KEY, default)
        return mask
