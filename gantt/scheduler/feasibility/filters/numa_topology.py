"""Refuse requests that need a NUMA topology.

Fitting into NUMA cells is not implemented yet. Where an operator enables
the filter, letting such a request through would promise what was not checked.
"""

from __future__ import annotations

import numpy as np

from gantt import errors
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request import exact_fit
from gantt.state.column import Bools


class NUMATopologyFilter(Filter):
    """Requests without a topology pass everywhere. Raises Invalid for others, and
    names the field that requires one."""

    cacheable = Cacheable(
        needs=(),
        reads=("numa_topology", "nulls", "flavor.extra_specs", "image.properties"),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked = exact_fit.topology_of(request.spec)
        if asked is not None:
            raise errors.Invalid(exact_fit.refusal(exact_fit.TOPOLOGY, asked))
        return np.ones(len(hosts), np.bool_)
