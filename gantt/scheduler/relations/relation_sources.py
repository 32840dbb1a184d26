"""Which relations a request asks for: by scheduler hints, by extra specs of its flavor,
and by what an operator said of its server group."""

from __future__ import annotations

from collections.abc import Iterator

from gantt.errors import Invalid
from gantt.model.forms.relations import NAMES, check_count, read_all, read_relations
from gantt.model.relations import Relation
from gantt.model.spec import InstanceGroup, RequestSpec
from gantt.placement import group_rules
from gantt.placement.domain_queries import check_key
from gantt.state.fleet_columns import Fleet
from gantt.state.state import State


def relations_of(state: State, spec: RequestSpec) -> tuple[Relation, ...]:
    """Those of a request with its group's rule; () for most. Raises Invalid: one cannot
    be read, or no host has its key."""
    found = [*_of_request(spec), *_of_group(state.fleet, spec.instance_group)]
    if not found:
        return ()
    once = check_count(found, "The request")  # before each makes a column of its key
    for one in once:
        check_key(state, one.key)
        if one.kind == "apart":
            _check_group(state.fleet, one)
    return once


def _of_request(spec: RequestSpec) -> Iterator[Relation]:
    for name, kind in NAMES.items():
        for value in spec.scheduler_hints.get(name, ()):
            yield from read_relations(kind, value, f"The scheduler hint {name}")
        if name in spec.flavor.extra_specs:
            if kind == "apart":
                raise Invalid(
                    f"The extra spec {name} names a server group: give it as a "
                    "scheduler hint, or as a relation of the instances' own group."
                )
            value = spec.flavor.extra_specs[name]
            yield from read_relations(kind, value, f"The extra spec {name}")


def _of_group(fleet: Fleet, group: InstanceGroup | None) -> Iterator[Relation]:
    """Those of the group, and of others that are to be apart from it."""
    if group is None or not fleet.facts.relations:
        return
    for uuid, text in fleet.facts.relations.items():
        if uuid == group.uuid or group.uuid in text:
            for one in read_all(text, f"Server group {uuid}"):
                if uuid == group.uuid:
                    yield one
                elif one.kind == "apart" and one.group == group.uuid:
                    yield Relation("apart", one.key, group=uuid)


def _check_group(fleet: Fleet, one: Relation) -> None:
    """Raises Invalid: the group that it is to be apart from is not known."""
    group = InstanceGroup(one.group)
    members = group_rules.members(fleet, group) | group_rules.promised(fleet, group)
    if one.group not in fleet.groups.by_uuid and not members:
        raise Invalid(
            f"The server group {one.group!r}, from which the instances are to be "
            f"apart by {one.key}, is not known here: 'gantt server-group list' lists "
            "them. Correct it, or leave the relation out."
        )
