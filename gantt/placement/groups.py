"""Server groups: the one place that says whether a host keeps a group's rule.

Filters ask while hosts are picked and the committer asks again before a claim is
written, so that no two claims that race for the last place both get it.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.state.fleet import Fleet

AFFINITY = "affinity"
ANTI_AFFINITY = "anti-affinity"
SOFT_AFFINITY = "soft-affinity"
SOFT_ANTI_AFFINITY = "soft-anti-affinity"


def with_rule(fleet: Fleet, spec: RequestSpec) -> RequestSpec:
    """``spec`` with the rule that was told of its group, where it gives none itself.
    The hint ``group`` names a group as Nova's API takes it: by the uuid of one that is
    known."""
    group = spec.instance_group
    if group is None and isinstance(hint := spec.hint("group"), str):
        group = InstanceGroup(hint)
    if group is None or group.policy is not None:
        return spec
    known = fleet.groups.by_uuid.get(group.uuid)
    if known is None or known.policy is None:
        return spec
    most = known.max_server_per_host
    found = replace(group, policy=known.policy, max_server_per_host=most)
    return replace(spec, instance_group=found)


def members(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Instances of the group: those that the caller names, and those known here, also
    those that were claimed for it and that their hosts name since."""
    return _told(fleet, group) | fleet.instances.of_group(group.uuid)


def _told(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    return group.members | fleet.groups.members.get(group.uuid, frozenset())


def promised(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Instances that hold a claim made for this group."""
    return fleet.claims.of_group(group.uuid)


def counts(fleet: Fleet, group: InstanceGroup) -> dict[str, int]:
    """Host name -> members on it, or promised it."""
    told = _told(fleet, group) | promised(fleet, group)
    found = fleet.members_on(told)
    since = fleet.instances.of_group(group.uuid) - told
    for host, count in fleet.members_on(since, group.uuid).items():
        found[host] = found.get(host, 0) + count
    return found


def hosts_of(fleet: Fleet, group: InstanceGroup, instance_uuid: str) -> set[str]:
    """Where an instance counts as a member, if it is one. One that was claimed
    for the group, and is promised elsewhere as a member of another, is no member
    there."""
    is_told = instance_uuid in _told(fleet, group)
    return fleet.hosts_of(instance_uuid, None if is_told else group.uuid)


def hosts(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Hosts with members, as the caller knows them and as they are known here."""
    return group.hosts | counts(fleet, group).keys()


def keeps_rule(
    group: InstanceGroup,
    host: str,
    instance_uuid: str,
    *,
    count: int,
    group_hosts: Collection[str],
    on_host: Collection[str],
) -> bool:
    """Whether ``instance_uuid`` may join the group on ``host``.

    ``count``: members on the host; ``group_hosts``: hosts with members; ``on_host``:
    instances there: one that is there already may stay (Nova's rule).
    """
    if group.policy == AFFINITY:
        return not group_hosts or host in group_hosts
    if group.policy == ANTI_AFFINITY:
        return instance_uuid in on_host or count < group.max_server_per_host
    return True
