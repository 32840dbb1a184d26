"""Keep members of an affinity group together."""

from __future__ import annotations

import numpy as np

from gantt.placement.group_rules import AFFINITY
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.feasibility import server_groups as groups
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools


class ServerGroupAffinityFilter(Filter):
    """The group has no hosts yet, or the host is one of them. Its hosts are those that
    the caller names, those known here, and the picks of this request."""

    cacheable = Cacheable(needs=(), reads=("instance_group",))

    def is_neutral(self, request: Request) -> bool:
        group = request.spec.instance_group
        return group is None or group.policy != AFFINITY

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        group = request.spec.instance_group
        if group is None or group.policy != AFFINITY:
            return np.ones(len(hosts), np.bool_)
        members = groups.member_hosts(hosts, group)
        if not members:
            return np.ones(len(hosts), np.bool_)
        return hosts.at_hosts(members)
