"""Require the requested availability zone.

Nova's filter from before zones were aggregates of the books. Unlike the pre-filter, it
keeps the default zone to hosts that no aggregate puts in another.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import aggregate_values
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools

KEY = "availability_zone"


class AvailabilityZoneFilter(Filter):
    """An aggregate of the host names the zone; without any zone the host is in the
    default one."""

    cacheable = Cacheable(needs=(), reads=("availability_zone",), elementwise=True)
    once = True

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        asked = request.spec.availability_zone
        if not asked:
            return np.ones(len(hosts), np.bool_)
        found = aggregate_values.with_item(hosts, KEY, asked.__eq__)
        if asked == request.options.default_availability_zone:
            found |= ~aggregate_values.with_key(hosts, KEY)
        return found
