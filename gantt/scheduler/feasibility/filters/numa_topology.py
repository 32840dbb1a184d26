"""Hosts whose cells may carry the instance, with the devices and networks near them.

The mask is a necessary condition by array passes; whether an instance fits is decided
for the hosts that would be picked (``scheduler/selection/topology_fit.py``), and again
by the committer.
"""

from __future__ import annotations

import numpy as np

from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility.topology_masks import mask_of
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.request.requested_topology import TOPOLOGY_FILTER, wanted_of
from gantt.state.column import Bools

_ALONE = frozenset({TOPOLOGY_FILTER})


class NUMATopologyFilter(Filter):
    """A request without a topology passes everywhere. Raises Invalid for one that
    contradicts itself."""

    cacheable = Cacheable(
        needs=("topology", "cpu_ratio", "ram_ratio"),
        reads=(
            "numa_topology",
            "pci_requests",
            "flavor",
            "image",
            "network_metadata",
            "nulls",
        ),
        elementwise=True,
    )

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        wanted = request.derived(wanted_of, _ALONE)
        return (
            np.ones(len(hosts), np.bool_) if wanted is None else mask_of(hosts, wanted)
        )

    def limits(self, hosts: Hosts, request: Request, place: int) -> dict[str, object]:
        """The limits that Nova calls NUMATopologyLimits: a compute without them tests
        no ratio."""
        wanted = request.derived(wanted_of, _ALONE)
        if wanted is None:
            return {}
        networks = request.spec.network_metadata
        return {
            "numa_topology": {
                "cpu_allocation_ratio": float(hosts.cpu_ratio[place]),
                "ram_allocation_ratio": float(hosts.ram_ratio[place]),
                "network_metadata": {
                    "physnets": sorted(networks.physnets),
                    "tunneled": networks.tunneled,
                },
            }
        }
