"""The driver ``chance``: any host that is up and has room, with equal probability."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation.evaluation import FilterDriver
from gantt.scheduler.feasibility.filters.compute import ComputeFilter
from gantt.scheduler.feasibility.filters.server_group_affinity import (
    ServerGroupAffinityFilter,
)
from gantt.scheduler.feasibility.filters.server_group_anti_affinity import (
    ServerGroupAntiAffinityFilter,
)
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.request.topology import DEVICES_FILTER, TOPOLOGY_FILTER

_ANY = 2**31
_FITTED = frozenset((TOPOLOGY_FILTER, DEVICES_FILTER))


class ChanceDriver(FilterDriver):
    """No weigher, so hosts are in random order; the rules of server groups apply,
    because the committer would refuse violations, and filters of cells and devices
    where they are enabled: what is not free is no room."""

    name: str = "chance"

    def __init__(self, policy: Policy) -> None:
        options = replace(policy.options, host_subset_size=_ANY)
        filters: tuple[Filter, ...] = (
            ComputeFilter(),
            ServerGroupAffinityFilter(),
            ServerGroupAntiAffinityFilter(),
        )
        fitted = tuple(one for one in policy.filters if one.name in _FITTED)
        super().__init__(Policy(options, (*filters, *fitted), ()))

    def without(self, name: str) -> None:
        """Its filters are not chosen by options."""
