"""Match extra specs of flavors with metadata of aggregates."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request import extra_specs
from gantt.state.column import Bools

SCOPE = "aggregate_instance_extra_specs"


class AggregateInstanceExtraSpecsFilter(Filter):
    """For each extra spec without a scope, or with ``aggregate_instance_extra_specs``,
    some aggregate of the host has the key and lists a value that matches. Raises
    Invalid, as ``extra_specs.matcher`` does."""

    cacheable = Cacheable(needs=(), reads=("flavor.extra_specs",), elementwise=True)
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        mask = np.ones(len(hosts), np.bool_)
        for spec, requirement in request.spec.flavor.extra_specs.items():
            scope, colon, rest = spec.partition(":")
            if colon and scope != SCOPE:
                continue
            key = rest if colon else spec
            matches = extra_specs.matcher(spec, requirement)
            mask &= aggregate_values.with_item(hosts, key, matches)
        return mask
