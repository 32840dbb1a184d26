"""Exclude hosts that were tried before for this instance.

Nova's filter from before alternates; kept for callers that still send such hosts.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class RetryFilter(Filter):
    """The pair of host and node is not among those tried."""

    cacheable = Cacheable(needs=(), reads=("retry_hosts",), elementwise=True)

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        row_of = hosts.fleet.hosts.row_of
        tried = [row_of(host, node) for host, node in request.spec.retry_hosts]
        rows = [row for row in tried if row is not None]
        found: Bools = np.isin(hosts.rows, rows, invert=True)
        return found
