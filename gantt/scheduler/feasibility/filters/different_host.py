"""Keep away from the instances that a hint names."""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import server_groups as groups
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class DifferentHostFilter(Filter):
    """None of the instances of the hint ``different_host`` is on the host."""

    cacheable = Cacheable(needs=(), reads=("scheduler_hints",))
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        uuids = request.spec.scheduler_hints.get("different_host")
        if not uuids:
            return np.ones(len(hosts), np.bool_)
        return ~groups.with_any(hosts, uuids)
