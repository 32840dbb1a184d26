"""Hosts that may have the devices that the instance needs, wherever they are.

The mask is a necessary condition, as that of NUMATopologyFilter.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility.topology_masks import mask_of
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, wanted_of
from gantt.state.column import Bools

_ALONE = frozenset({DEVICES_FILTER})


class PciPassthroughFilter(Filter):
    """A request without devices passes everywhere. Raises Invalid for one that
    contradicts itself."""

    cacheable = Cacheable(
        needs=("topology",),
        reads=("numa_topology", "pci_requests", "flavor", "image", "nulls"),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        wanted = request.derived(wanted_of, _ALONE)
        return (
            np.ones(len(hosts), np.bool_) if wanted is None else mask_of(hosts, wanted)
        )
