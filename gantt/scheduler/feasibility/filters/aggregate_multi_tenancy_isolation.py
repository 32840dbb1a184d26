"""Reserve aggregates for certain projects."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

PREFIX = "filter_tenant_id"


class AggregateMultiTenancyIsolation(Filter):
    """No aggregate of the host has a key that starts with ``filter_tenant_id``, or one
    lists the project. Several keys allow for many projects."""

    cacheable = Cacheable(needs=(), reads=("project_id",), elementwise=True)
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        project = request.spec.project_id
        is_kept = np.zeros(len(hosts), np.bool_)
        is_listed = np.zeros(len(hosts), np.bool_)
        for key in aggregate_values.keys(hosts):
            if key.startswith(PREFIX):
                is_kept |= aggregate_values.with_key(hosts, key)
                is_listed |= aggregate_values.with_item(
                    hosts, key, lambda one: one == project
                )
        return ~is_kept | is_listed
