"""Reserve aggregates for certain flavors."""

from __future__ import annotations

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

KEY = "instance_type"


class AggregateTypeAffinityFilter(Filter):
    """No aggregate of the host has ``instance_type``, or one lists the flavor."""

    cacheable = Cacheable(needs=(), reads=("flavor.name",), elementwise=True)
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        name = request.spec.flavor.name
        is_free = ~aggregate_values.with_key(hosts, KEY)
        return is_free | aggregate_values.with_item(hosts, KEY, lambda one: one == name)
