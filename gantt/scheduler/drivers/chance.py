"""The driver ``chance``: any host that is up and has room, with equal probability."""

from __future__ import annotations

from msgspec.structs import replace

from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.feasibility.filters.compute import ComputeFilter
from gantt.scheduler.feasibility.filters.server_group_affinity import (
    ServerGroupAffinityFilter,
)
from gantt.scheduler.feasibility.filters.server_group_anti_affinity import (
    ServerGroupAntiAffinityFilter,
)
from gantt.scheduler.policy import Policy

_ANY = 2**31


class ChanceDriver(FilterDriver):
    """No weigher, so hosts are in random order; the rules of server groups apply,
    because the committer would refuse violations."""

    name: str = "chance"

    def __init__(self, policy: Policy) -> None:
        options = replace(policy.options, host_subset_size=_ANY)
        filters = (
            ComputeFilter(),
            ServerGroupAffinityFilter(),
            ServerGroupAntiAffinityFilter(),
        )
        super().__init__(Policy(options, filters, ()))

    def without(self, name: str) -> None:
        """Its filters are not chosen by options."""
