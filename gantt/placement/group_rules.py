"""Server groups: the one place that says whether a host keeps a group's rule.

Filters ask while hosts are picked and the committer asks again before a claim is
written, so that no two claims that race for the last place both get it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from gantt.model.booking import Booking
from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.state.fleet_columns import Fleet

AFFINITY = "affinity"
ANTI_AFFINITY = "anti-affinity"
SOFT_AFFINITY = "soft-affinity"
SOFT_ANTI_AFFINITY = "soft-anti-affinity"


def with_rule(fleet: Fleet, spec: RequestSpec) -> RequestSpec:
    """``spec`` with the rule that was told of its group, where it gives none itself.
    The hint ``group`` names a group as Nova's API takes it: by the uuid of one that is
    known, or has relations."""
    group = spec.instance_group
    if group is None and isinstance(hint := spec.hint("group"), str):
        group = InstanceGroup(hint)
    if group is None or group.policy is not None:
        return spec
    known = fleet.groups.by_uuid.get(group.uuid)
    if known is None or known.policy is None:
        # Without a rule its members still count where they are to be spread.
        counts = known is not None or group.uuid in fleet.facts.relations
        return replace(spec, instance_group=group) if counts else spec
    most = known.max_server_per_host
    found = replace(group, policy=known.policy, max_server_per_host=most)
    return replace(spec, instance_group=found)


def members(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Instances of the group: those that the caller names, and those known here, also
    those that were claimed for it and that their hosts name since."""
    return told(fleet, group) | fleet.instances.of_group(group.uuid)


def told(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Members that the caller names, or that were told of the group."""
    return group.members | fleet.groups.members.get(group.uuid, frozenset())


def promised(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Instances that hold a claim made for this group."""
    return fleet.claims.of_group(group.uuid)


def counts(fleet: Fleet, group: InstanceGroup) -> dict[str, int]:
    """Host name -> members on it, or promised it."""
    known = told(fleet, group) | promised(fleet, group)
    found = fleet.members_on(known)
    since = fleet.instances.of_group(group.uuid) - known
    for host, count in fleet.members_on(since, group.uuid).items():
        found[host] = found.get(host, 0) + count
    return found


def hosts_of(fleet: Fleet, group: InstanceGroup, instance_uuid: str) -> set[str]:
    """Where an instance counts as a member, if it is one. One that was claimed
    for the group, and is promised elsewhere as a member of another, is no member
    there."""
    is_told = instance_uuid in told(fleet, group)
    return fleet.hosts_of(instance_uuid, None if is_told else group.uuid)


def hosts(fleet: Fleet, group: InstanceGroup) -> frozenset[str]:
    """Hosts with members, as the caller knows them and as they are known here."""
    return group.hosts | counts(fleet, group).keys()


class Members:
    """The members of one group, by service host: those that the fleet has, less those
    that ``left``, and those that were ``placed`` for the group, as a View has both."""

    def __init__(
        self,
        fleet: Fleet,
        group: InstanceGroup,
        placed: Mapping[str, Iterable[Booking]],
        left: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._fleet, self._group = fleet, group
        self._placed, self._left = placed, left
        self._known = members(fleet, group) | promised(fleet, group)
        self._counts = counts(fleet, group)

    def on(self, host: str) -> int:
        """How many count on the host. One that was there, and stays, counts once."""
        count, left = self._counts.get(host, 0), self._left.get(host, ())
        for one in left:
            count -= self._counts_on(host, one)
        for booking in self._placed.get(host, ()):
            one = booking.consumer
            stays = one not in left and self._counts_on(host, one)
            count += booking.group == self._group.uuid and not stays
        return count

    def _counts_on(self, host: str, uuid: str) -> bool:
        """Whether the State has the instance there, as a member."""
        is_member = uuid in self._known
        return is_member and host in hosts_of(self._fleet, self._group, uuid)

    def counts(self) -> dict[str, int]:
        """Host name -> how many count there, where any does."""
        every = {host: self.on(host) for host in {**self._counts, **self._placed}}
        return {host: count for host, count in every.items() if count}

    def hosts(self) -> frozenset[str]:
        """Hosts with members, as the caller knows them and as they are counted."""
        return self._group.hosts | self.counts().keys()

    def allows(self, host: str, instance_uuid: str) -> bool:
        """Whether the instance may join the group on the host. Where the State has it
        it may stay, and there the group is, whatever of it was taken to place it."""
        group, there = self._group, hosts_of(self._fleet, self._group, instance_uuid)
        every = frozenset[str]()
        if group.policy == AFFINITY:
            every = self.hosts() | (there if instance_uuid in self._known else set())
        return keeps_rule(
            group,
            host,
            instance_uuid,
            count=self.on(host),
            group_hosts=every,
            on_host=(instance_uuid,) if host in there else (),
        )


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
