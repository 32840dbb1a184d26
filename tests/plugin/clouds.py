"""Requests and hosts of Nova, and its own handlers with the plug-in in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from nova import objects
from nova.scheduler import filters, host_manager, weights

objects.register_all()

FILTER = "gantt_nova_plugin.nova.GanttFilter"
WEIGHER = "gantt_nova_plugin.nova.GanttWeigher"
NAMES = ("a", "b", "c")


def spec(**fields: object) -> Any:
    """A request for one instance."""
    flavor = objects.Flavor(
        id=1,
        flavorid="1",
        name="m1",
        vcpus=1,
        memory_mb=64,
        root_gb=1,
        ephemeral_gb=0,
        swap=0,
        extra_specs={},
    )
    wanted = {
        "flavor": flavor,
        "instance_uuid": str(uuid4()),
        "num_instances": 1,
        "project_id": "p",
        "user_id": "u",
        "availability_zone": None,
        "scheduler_hints": {},
        **fields,
    }
    return objects.RequestSpec(**wanted)


def hosts(names: Sequence[str] = NAMES) -> list[Any]:
    """States of hosts with one node each."""
    return [host_manager.HostState(name, f"{name}.node", None) for name in names]


def filtered(request: Any, states: Sequence[Any], index: int = 0) -> list[str]:
    """The names of the hosts that Nova's filter handler leaves."""
    handler = filters.HostFilterHandler()
    loaded = [one() for one in handler.get_matching_classes([FILTER])]
    left = handler.get_filtered_objects(loaded, states, request, index)
    return [state.host for state in left]


def weighed(request: Any, states: Sequence[Any], *others: str) -> list[str]:
    """The names of the hosts as Nova's weight handler orders them."""
    handler = weights.HostWeightHandler()
    loaded = [one() for one in handler.get_matching_classes([*others, WEIGHER])]
    return [w.obj.host for w in handler.get_weighed_objects(loaded, states, request)]
