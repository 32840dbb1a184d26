"""Together with, or apart from, a group that the hint ``group`` names.

Nova's filters from before server groups had policies. Members are the instances whose
facts say ``group``, and those of a known server group of that name or uuid. Where the
group has a policy, the filters of server groups decide instead.
"""

from __future__ import annotations

import numpy as np
from msgspec import json

from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.scheduler.contract import Cacheable, Filter, Request
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools
from gantt.state.fleet_columns import Fleet


class GroupAffinityFilter(Filter):
    """The host has members of the group, or no host has."""

    cacheable = Cacheable(needs=(), reads=("scheduler_hints.group", "instance_group"))

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        names = group_hosts(hosts, request)
        return hosts.at_hosts(names) if names else np.ones(len(hosts), np.bool_)


class GroupAntiAffinityFilter(Filter):
    """The host has no members of the group."""

    cacheable = Cacheable(needs=(), reads=("scheduler_hints.group", "instance_group"))

    def mask(self, hosts: Hosts, request: Request) -> Bools:
        return ~hosts.at_hosts(group_hosts(hosts, request))


def group_hosts(hosts: Hosts, request: Request) -> set[str]:
    """Names of hosts with members of the group that the hint names, those just selected
    included; empty without the hint, and for a group with a policy."""
    name = request.spec.hint("group")
    group = request.spec.instance_group
    if not isinstance(name, str) or not name:
        return set()
    if group is not None and group.policy not in (None, "legacy"):
        return set()
    found = set(hosts.fleet.members_on(_members(hosts.fleet, name)))
    if group is not None:
        found |= group_rules.hosts(hosts.fleet, group)
    all_names = hosts.fleet.hosts.hosts
    found.update(all_names[int(hosts.rows[place])] for place in hosts.added)
    return found


def _members(fleet: Fleet, name: str) -> set[str]:
    found: set[str] = set()
    for row in fleet.groups.by_uuid.values():
        if name in (row.uuid, row.name):
            group = InstanceGroup(row.uuid)
            found |= group_rules.members(fleet, group) | group_rules.promised(
                fleet, group
            )
    for instance in fleet.instances.by_uuid.values():
        # Most facts do not mention groups: skip decoding them.
        has_group = '"group"' in instance.facts
        if has_group and json.decode(instance.facts).get("group") == name:
            found.add(instance.uuid)
    return found
