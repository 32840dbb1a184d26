"""Server groups and named instances, as arrays over the hosts of one request.

``gantt.placement.group_rules`` has the rule for one host, for the committer; filters
apply it to all hosts at once, and count the picks of this request.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gantt.model.booking import Booking
from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.placement import group_rules
from gantt.scheduler.hosts import Hosts
from gantt.state.column import Bools, Int64s


def with_any(hosts: Hosts, uuids: Iterable[str]) -> Bools:
    """bool[n]: hosts that report one of the instances, have a claim for one, or were
    picked for one by this request. Instances belong to the service: they are on all its
    nodes.
    """
    fleet, wanted = hosts.fleet, frozenset(uuids)
    found = {name for uuid in wanted for name in fleet.hosts_of(uuid)}
    return hosts.at_hosts(found | _given(hosts, wanted))


def with_member(hosts: Hosts, group: InstanceGroup, uuid: str) -> Bools:
    """Where one instance counts as a member, as ``with_any`` has it of several."""
    found = group_rules.hosts_of(hosts.fleet, group, uuid)
    return hosts.at_hosts(found | _given(hosts, frozenset({uuid})))


def _given(hosts: Hosts, wanted: frozenset[str]) -> set[str]:
    names = hosts.fleet.hosts.hosts
    return {
        names[int(hosts.rows[place])]
        for place, picked in hosts.added.items()
        if not wanted.isdisjoint(picked)
    }


def member_counts(hosts: Hosts, group: InstanceGroup) -> Int64s:
    """int64[n]: members on each service host, claims included; picks of this request
    count, since all its instances belong to the group."""
    if not hosts.added:
        return hosts.counts_on(group_rules.counts(hosts.fleet, group))
    return hosts.counts_on(_members(hosts, group).counts())


def _members(hosts: Hosts, group: InstanceGroup) -> group_rules.Members:
    names, placed = hosts.fleet.hosts.hosts, dict[str, tuple[Booking, ...]]()
    for place, picked in hosts.added.items():
        row = int(hosts.rows[place])
        key, name = int(hosts.fleet.hosts.id[row]), names[row]
        new = tuple(Booking(uuid, key, group=group.uuid) for uuid in picked)
        placed[name] = placed.get(name, ()) + new
    return group_rules.Members(hosts.fleet, group, placed)


def completed(hosts: Hosts, spec: RequestSpec) -> RequestSpec:
    """``spec`` with all that is known here of its group, for plug-ins that read only
    the request; those of Gantt count members by host."""
    group = spec.instance_group
    if group is None:
        return spec
    known = group_rules.members(hosts.fleet, group) | group_rules.promised(
        hosts.fleet, group
    )
    whole = replace(group, members=known, hosts=member_hosts(hosts, group))
    return replace(spec, instance_group=whole)


def member_hosts(hosts: Hosts, group: InstanceGroup) -> frozenset[str]:
    """Names of service hosts with members, the picks of this request included."""
    if not hosts.added:
        return group_rules.hosts(hosts.fleet, group)
    return _members(hosts, group).hosts()
