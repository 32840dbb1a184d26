"""Limit concurrent tasks per host, with limits set by aggregates."""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

KEY = "max_io_ops_per_host"


class AggregateIoOpsFilter(Filter):
    """Limits I/O operations as IoOpsFilter does, with the limit from aggregate
    metadata, if there is one."""

    cacheable = Cacheable(needs=("num_io_ops",), reads=(), elementwise=True)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        default = request.options.max_io_ops_per_host
        mask: Bools = hosts.num_io_ops < aggregate_values.least(hosts, KEY, default)
        return mask
