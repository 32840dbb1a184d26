"""Says no to what cells of memory and CPUs would have to be fitted for.

Which cell of a host would take what is not worked out yet. Where an operator enables
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
    """A request that no topology comes of passes everywhere. Raises Invalid for
    others, with what asks for one."""

    cacheable = Cacheable(
        needs=(),
        reads=("numa_topology", "flavor.extra_specs", "image.properties"),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked = exact_fit.topology_of(request.spec)
        if asked is not None:
            raise errors.Invalid(exact_fit.refusal(exact_fit.TOPOLOGY, asked))
        return np.ones(len(hosts), np.bool_)
