"""Keep members of an anti-affinity group apart."""

from __future__ import annotations

import numpy as np

from gantt.placement.group_rules import ANTI_AFFINITY
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import server_groups as groups
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class ServerGroupAntiAffinityFilter(Filter):
    """The host has fewer members than ``max_server_per_host``, pending claims included;
    or the instance itself is there and may stay (a resize on its own host).

    The known hosts of members count, not the hosts that the caller gives.
    """

    cacheable = Cacheable(needs=(), reads=("instance_group", "instance_uuid"))

    def is_neutral(self, request: Request) -> bool:
        group = request.spec.instance_group
        return group is None or group.policy != ANTI_AFFINITY

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        spec = request.spec
        group = spec.instance_group
        if group is None or group.policy != ANTI_AFFINITY:
            return np.ones(len(hosts), np.bool_)
        counts = groups.member_counts(hosts, group)
        mask: Bools = counts < group.max_server_per_host
        if spec.instance_uuid is not None:
            mask |= groups.with_member(hosts, group, spec.instance_uuid)
        return mask
