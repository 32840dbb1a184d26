"""Limit concurrent builds, resizes and similar tasks per host."""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class IoOpsFilter(Filter):
    """Fewer than ``max_io_ops_per_host`` operations run on the host. A claim that its
    report does not include yet counts as one."""

    cacheable = Cacheable(needs=("num_io_ops",), reads=(), elementwise=True)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask: Bools = hosts.num_io_ops < request.options.max_io_ops_per_host
        return mask
