"""Prefer hosts with more members of the server group.

Unlike the filters of the strict policies, it never refuses a host.
"""

from __future__ import annotations

import numpy as np

from gantt.placement.group_rules import SOFT_AFFINITY
from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.feasibility import server_groups as groups
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Floats


class ServerGroupSoftAffinityWeigher(Weigher):
    """The score is how many members the host has, those just selected included."""

    cacheable = Cacheable(needs=(), reads=("instance_group",))
    option = "soft_affinity_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        group = request.spec.instance_group
        return group is None or group.policy != SOFT_AFFINITY

    def score(self, hosts: Hosts, request: Request) -> Floats:
        if self.is_neutral(request):
            return np.zeros(len(hosts))
        return members_on(hosts, request)


def members_on(hosts: Hosts, request: Request) -> Floats:
    """float64[n]: members of the request's server group per host."""
    group = request.spec.instance_group
    if group is None:
        return np.zeros(len(hosts))
    return groups.member_counts(hosts, group).astype(np.float64)
