"""Match hosts with a query given by the caller."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import host_attributes, host_query
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class JsonFilter(Filter):
    """The hint ``query`` is true of the host; see ``host_query``. Raises Invalid if
    it is not JSON or names an unknown operator.

    What hosts report in ``stats`` is text here, and a host of which text would have to
    be ordered against a number fails.
    """

    cacheable = Cacheable(
        needs=(
            *sorted(
                {*host_attributes.COLUMNS.values(), *host_attributes.RATIOS.values()}
            ),
            *(f"factor:{name}" for name in sorted(host_attributes.REPORTED)),
            "factor:local_gb_used",
        ),
        reads=("scheduler_hints",),
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        hint = request.spec.hint("query")
        query = host_query.parse(hint) if hint else []
        if not query:
            return np.ones(len(hosts), np.bool_)
        return host_query.QueryEvaluation(hosts).mask(query)
