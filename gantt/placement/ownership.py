"""Whose instances and server groups are: what a caller bound to its project may name.

Doors ask before a decision, the rule for claims asks again on the newest columns. What
is known here, but of no known project, needs an operator. A server group has no owner
of its own; it belongs to the project that all its members are of.
"""

from __future__ import annotations

from collections.abc import Iterable

from gantt.errors import Forbidden
from gantt.model.spec import InstanceGroup
from gantt.placement import group_rules
from gantt.placement.fleet_queries import claim_project
from gantt.state.state import State

ANY = "gantt:claims:any"


def check_owner(
    state: State, instance_uuids: Iterable[str], project: str, *, also_running: bool
) -> None:
    """Raises Forbidden where an instance has allocations or a claim that are not of
    ``project``, or of which no project is known. ``also_running``: likewise where only
    a host names it; where a remote Placement has the allocations, that is asked."""
    for uuid in instance_uuids:
        owners = _owners(state, uuid)
        is_running = also_running and uuid in state.fleet.instances.by_uuid
        if owners - {project} or (is_running and not owners):
            raise not_of(project, uuid)


def check_groups(state: State, uuids: Iterable[str], project: str) -> None:
    """Raises Forbidden where a group is known here and has a member that is not of
    ``project``, or none."""
    for uuid in filter(None, uuids):
        group = InstanceGroup(uuid)
        found = group_rules.members(state.fleet, group) | group_rules.promised(
            state.fleet, group
        )
        is_known = bool(found) or uuid in state.fleet.groups.by_uuid
        if is_known and (
            not found or any(_owners(state, one) != {project} for one in found)
        ):
            raise Forbidden(
                f"Server group {uuid} has members that do not belong to project "
                f"{project}, or its project is not known. Use a group of project "
                f"{project}; others require permission {ANY}."
            )


def check_named(
    state: State,
    placed: Iterable[str],
    near: Iterable[str],
    group_uuids: Iterable[str],
    project: str,
) -> None:
    """A query: all of this. ``placed``: the instances that a request is about;
    ``near``: others that it names."""
    check_owner(state, placed, project, also_running=False)
    check_owner(state, near, project, also_running=True)
    check_groups(state, group_uuids, project)


def not_of(project: str, instance_uuid: str) -> Forbidden:
    """An instance is not of the project that may name its own alone."""
    return Forbidden(
        f"Instance {instance_uuid} has allocations or a claim, or runs on a host, and "
        f"does not belong to project {project}. Name only instances of project "
        f"{project}; others require permission {ANY}."
    )


def _owners(state: State, uuid: str) -> set[str | None]:
    """The projects of what an instance has; None: of some of it none is known."""
    found: set[str | None] = set()
    consumer = state.consumers.find(uuid)
    if consumer is not None:
        found.add(state.projects.name_of_id(consumer.project_id))
    claim = state.fleet.claims.by_instance.get(uuid)
    if claim is not None:
        found.add(claim_project(state, claim))
    return found
