"""Names in a request that must be known: a misspelt one would limit nothing.

Nova's API judges zones, groups and cells before its scheduler is asked; Gantt's own
doors have nothing before them. Apart from the pre-filters because Nova's doors go
through these too, and keep Nova's meaning of a name that is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from gantt.errors import Invalid, NoValidHost
from gantt.model.diagnosis import some
from gantt.model.spec import Destination, RequestSpec
from gantt.scheduler.contract import Filter, Weigher
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.options import SchedulerOptions
from gantt.state.state import State

_ZONE: Final = "availability_zone"
NAMING: Final = attrgetter(
    *(_ZONE, "scheduler_hints", "force_hosts"),
    *("requested_destination", "requested_resources"),
)
"""The fields that ``check_names`` looks at: a request without any need not ask."""
_HINTS: Final = {
    "same_host": "SameHostFilter",
    "different_host": "DifferentHostFilter",
    "query": "JsonFilter",
    "build_near_host_ip": "SimpleCIDRAffinityFilter",
    "cidr": "SimpleCIDRAffinityFilter",
    "group": "ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter",
}
"""Hint -> the filters that read it."""
_BY_NAME: Final = frozenset({"GroupAffinityFilter", "GroupAntiAffinityFilter"})
"""With these a group is whatever the hint says."""
_READERS: Final = frozenset({*_HINTS.values(), *_BY_NAME})


def check_names(state: State, spec: RequestSpec, driver: Driver) -> None:
    """Raises Invalid: a zone, group, cell, aggregate or hint that is unknown, with what
    is known; NoValidHost: a forced host that is."""
    options = driver.policy.options
    if options.names_are_checked:
        return
    if spec.availability_zone:
        _check_zone(state, spec.availability_zone, options)
    if spec.scheduler_hints:
        _check_hints(state, spec, driver)
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
    enabled = {one.name for one in policy.filters}
    group = spec.hint("group")
    groups = state.fleet.groups.by_uuid
    if isinstance(group, str) and group not in groups and not enabled & _BY_NAME:
        raise _unknown("server group", group, "'gantt server-group list' lists them")
    asked = [
        name
        for name in spec.scheduler_hints
        if name not in _HINTS and not name.startswith("_")
    ]
    if not asked or driver.chooser is not None:
        return
    plugins: tuple[Filter | Weigher, ...] = (*policy.filters, *policy.weighers)
    if not any(map(_may_read, plugins)):
        raise _unknown("scheduler hint", asked[0], _listed(_HINTS))


def _may_read(one: Filter | Weigher) -> bool:
    """Whether a plug-in may read other hints."""
    if one.name in _READERS or one.name.startswith("ServerGroup"):
        return False
    declared = one.cacheable
    if declared is None:
        return True
    return any(path.partition(".")[0] == "scheduler_hints" for path in declared.reads)


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
