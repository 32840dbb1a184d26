"""Names in a request that must be known and read: others would limit nothing.

Nova's API judges zones, groups and cells before its scheduler is asked; Gantt's own
doors have nothing before them. Apart from the pre-filters because Nova's doors go
through these too, and keep Nova's meaning of a name that is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from gantt.errors import Invalid, NoValidHost
from gantt.model.artifacts import HINTS
from gantt.model.diagnosis import some
from gantt.model.forms.relations import NAMES
from gantt.model.names import canonical_uuid
from gantt.model.spec import Destination, InstanceGroup, RequestSpec
from gantt.placement import group_rules
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State

_ZONE: Final = "availability_zone"
NAMING: Final = attrgetter(
    _ZONE,
    "scheduler_hints",
    "force_hosts",
    "instance_group",
    "requested_destination",
    "requested_resources",
)
"""The fields that ``check_names`` looks at: a request without any need not ask."""
_OF_GROUPS: Final = "ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter"
_HINTS: Final = {
    "same_host": "SameHostFilter",
    "different_host": "DifferentHostFilter",
    "query": "JsonFilter",
    "build_near_host_ip": "SimpleCIDRAffinityFilter",
    "cidr": "SimpleCIDRAffinityFilter",
    "group": _OF_GROUPS,
}
"""Hint -> what reads it; of a group that depends on its policy."""
GROUP_FILTERS: Final = {
    group_rules.AFFINITY: "ServerGroupAffinityFilter",
    group_rules.ANTI_AFFINITY: "ServerGroupAntiAffinityFilter",
}
"""What makes hosts keep a policy, and a claim keep it against others."""
_INSTANCES: Final = frozenset({"same_host", "different_host"})
"""Hints that name instances."""
_BY_NAME: Final = frozenset({"GroupAffinityFilter", "GroupAntiAffinityFilter"})
"""With these a group is whatever the hint says."""
_READERS: Final = frozenset(_HINTS.values())
_GROUPS: Final = "'gantt server-group list' lists them"


def check_names(state: State, spec: RequestSpec, driver: Driver) -> None:
    """Raises Invalid: a zone, group, cell, aggregate or hint that is unknown, with what
    is known, or a hint that nothing reads; NoValidHost: a forced host is unknown."""
    options = driver.policy.options
    if options.names_are_checked:
        return
    if spec.availability_zone:
        _check_zone(state, spec.availability_zone, options)
    if spec.scheduler_hints:
        _check_hints(state, spec, driver)
    group = spec.instance_group
    if group is not None or "group" in spec.scheduler_hints:
        group = group_rules.with_rule(state.fleet, spec).instance_group
    if group is not None:
        _check_group(state, group, driver)
    for host in spec.force_hosts:
        _check_host(state, host)
    if spec.requested_destination is not None:
        _check_cell(state, spec.requested_destination)
    has_places = spec.requested_destination is not None or spec.requested_resources
    if has_places and options.placement == "embedded":
        _check_aggregates(state, spec)


def _check_zone(state: State, asked: str, options: SchedulerOptions) -> None:
    every = state.fleet.aggregates.metadata.values()
    known = {options.default_availability_zone}
    known |= {metadata[_ZONE] for metadata in every if _ZONE in metadata}
    if asked not in known:
        raise _unknown("availability zone", asked, _listed(known))


def _check_hints(state: State, spec: RequestSpec, driver: Driver) -> None:
    policy = driver.policy
    enabled = policy.filter_names
    group = spec.hint("group")
    told = state.fleet.groups.by_uuid
    if isinstance(group, str) and group not in told and not enabled & _BY_NAME:
        raise _unknown("server group", group, _GROUPS)
    asked = [
        name
        for name in spec.scheduler_hints
        if not name.startswith("_")
        and name not in (*NAMES, *HINTS)
        and _HINTS.get(name) not in (enabled | {_OF_GROUPS})
    ]
    if asked and not _may_be_read(driver, "scheduler_hints"):
        raise _unread(asked[0])
    for name in _INSTANCES & spec.scheduler_hints.keys():
        for uuid in spec.scheduler_hints[name]:
            if canonical_uuid(uuid) is None:
                raise Invalid(
                    f"The scheduler hint {name} must name instances by their UUIDs, "
                    f"not {uuid!r}. Correct it, or leave it out."
                )


def _unread(hint: str) -> Invalid:
    reader = _HINTS.get(hint)
    if reader is None:
        return _unknown("scheduler hint", hint, _listed({*_HINTS, *NAMES, *HINTS}))
    return _off(f"The scheduler hint {hint!r}", reader)


def _off(what: str, reader: str) -> Invalid:
    return Invalid(
        f"{what} limits nothing here: {reader} reads it, which is not among "
        "enabled_filters of [filter_scheduler]. Leave it out, or have the filter "
        "enabled."
    )


def _check_group(state: State, group: InstanceGroup, driver: Driver) -> None:
    """Checks that a group has a policy, or was told of, and that its filter is
    enabled."""
    reader = GROUP_FILTERS.get(group.policy or "")
    if reader is not None:
        is_lost = reader not in driver.policy.filter_names
    elif group.policy is not None:
        is_lost = False  # soft: weighers read it
    elif group.uuid:
        is_lost = group.uuid not in state.fleet.groups.by_uuid
    else:
        is_lost = bool(group.members or group.hosts)
    if not is_lost or _may_be_read(driver, "instance_group"):
        return
    if reader is not None:
        raise _off(f"The policy {group.policy} of a server group", reader)
    if group.uuid:
        raise _unknown(
            "server group", group.uuid, f"{_GROUPS}; a new one needs a policy"
        )
    raise Invalid(
        "instance_group names members or hosts, but neither a policy nor the uuid of a "
        "group that is known, and so limits nothing. Give one of the two, or leave it "
        "out."
    )


def _may_be_read(driver: Driver, field: str) -> bool:
    """Whether a plug-in may read of ``field`` what nothing of Gantt reads."""
    if driver.chooser is not None:
        return True
    policy = driver.policy
    plugins: tuple[Filter | Weigher, ...] = (*policy.filters, *policy.weighers)
    return any(_reads(one, field) for one in plugins)


def _reads(one: Filter | Weigher, field: str) -> bool:
    if one.name in _BY_NAME:
        return field == "instance_group"
    if one.name in _READERS or one.name.startswith("ServerGroup"):
        return False
    declared = one.cacheable
    if declared is None:
        return True
    return any(path.partition(".")[0] == field for path in declared.reads)


def _check_host(state: State, asked: str) -> None:
    hosts = state.fleet.hosts
    if hosts.rows_of(asked):
        return
    wanted = asked.lower()  # without regard to case, as they are compared
    if not any(name.lower() == wanted for name in hosts.hosts):
        raise NoValidHost(f"No such host - host: {asked} node: None")


def _check_cell(state: State, aim: Destination) -> None:
    """Where cells are known at all: a host of an unknown cell is in any."""
    if not aim.cell_uuid:
        return
    known = {cell for cell in state.fleet.hosts.cells if cell}
    if known and aim.cell_uuid not in known:
        raise _unknown("cell", aim.cell_uuid, "'gantt host list' shows hosts")


def _check_aggregates(state: State, spec: RequestSpec) -> None:
    known = state.fleet.aggregates.by_uuid
    for asked in _aggregates_of(spec):
        if asked not in known and state.aggregates.find(asked) is None:
            raise _unknown("aggregate", asked, "'gantt aggregate list' lists them")


def _aggregates_of(spec: RequestSpec) -> Iterator[str]:
    aim = spec.requested_destination
    every = (*spec.requested_resources, *(() if aim is None else (aim,)))
    for one in every:
        for alternatives in one.aggregates:
            yield from sorted(alternatives)
        yield from sorted(one.forbidden_aggregates)


def _unknown(kind: str, asked: str, known: str) -> Invalid:
    """``known``: which there are, or for uuids, which projects may not read,
    where they are listed."""
    return Invalid(
        f"The {kind} {asked!r} is not known here: {known}. Correct it, or leave it out."
    )


def _listed(known: Iterable[str]) -> str:
    return f"there is {', '.join(some(sorted(known)))}"
