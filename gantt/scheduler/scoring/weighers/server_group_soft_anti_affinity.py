"""Prefer hosts with fewer members of the server group.

Unlike the filters of the strict policies, it never refuses a host.
"""

from __future__ import annotations

import numpy as np

from gantt.placement import group_rules
from gantt.scheduler.contract import Cacheable, Request, Weigher
from gantt.scheduler.hosts import Hosts
from gantt.scheduler.scoring.weighers.server_group_soft_affinity import members_on
from gantt.state.column import Floats


class ServerGroupSoftAntiAffinityWeigher(Weigher):
    """The score is minus the members that the host has."""

    cacheable = Cacheable(needs=(), reads=("instance_group",))
    option = "soft_anti_affinity_weight_multiplier"

    def is_neutral(self, request: Request) -> bool:
        group = request.spec.instance_group
        return group is None or group.policy != group_rules.SOFT_ANTI_AFFINITY

    def score(self, hosts: Hosts, request: Request) -> Floats:
        if self.is_neutral(request):
            return np.zeros(len(hosts))
        return -members_on(hosts, request)
