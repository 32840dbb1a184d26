"""Drivers by name: ours, and those of other packages (entry points), guarded.

Apart from ``registry``, which filters and weighers need before there are any feasible
hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

from msgspec.structs import replace

from gantt.errors import Refused
from gantt.scheduler.contract import Filter
from gantt.scheduler.evaluation import choosers
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.feasibility.filters.compute import ComputeFilter
from gantt.scheduler.feasibility.filters.server_group_affinity import (
    ServerGroupAffinityFilter,
)
from gantt.scheduler.feasibility.filters.server_group_anti_affinity import (
    ServerGroupAntiAffinityFilter,
)
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Outside
from gantt.scheduler.plugins.policy import Policy
from gantt.scheduler.request.requested_topology import DEVICES_FILTER, TOPOLOGY_FILTER

Making: TypeAlias = Callable[[Policy], Driver]
_ANY = 2**31
_FITTED = frozenset((TOPOLOGY_FILTER, DEVICES_FILTER))


def filtering(policy: Policy) -> Driver:
    """Every mask and every score is computed for each request."""
    return Driver(policy, "filter")


def caching(policy: Policy) -> Driver:
    """The driver that decides from evaluations that are kept: the default."""
    return Driver(policy, "caching", keeps=True)


def chance(policy: Policy) -> Driver:
    """Any host that is up and has room, with equal probability: no weigher, so hosts
    are in random order. The rules of server groups apply, because the committer would
    refuse violations, and filters of cells and devices where they are enabled: what is
    not free is no room."""
    options = replace(policy.options, host_subset_size=_ANY)
    filters: tuple[Filter, ...] = (
        ComputeFilter(),
        ServerGroupAffinityFilter(),
        ServerGroupAntiAffinityFilter(),
    )
    fitted = tuple(one for one in policy.filters if one.name in _FITTED)
    rules = Policy(options, (*filters, *fitted), ())
    return Driver(rules, "chance", is_fixed=True)


DRIVERS: Final[Mapping[str, Making]] = {
    "filter": filtering,
    "caching": caching,
    "chance": chance,
}
"""Those of Gantt, by the name that options give."""


def driver_of(policy: Policy, outside: Outside = IN_PLACE) -> Driver:
    """The driver that the options name; ``outside`` calls one of another package.
    Raises Refused when there is none, or it cannot be made."""
    wanted = policy.options.driver
    if wanted in DRIVERS:
        return DRIVERS[wanted](policy)
    plugins = entry_points(group="gantt.drivers")
    for plugin in plugins:
        if plugin.name == wanted:
            chooser = _made(plugin, outside)
            return Driver(policy, chooser.name, chooser, keeps=True)
    names = sorted({*DRIVERS, *(plugin.name for plugin in plugins)})
    raise Refused(
        f"driver of [scheduler] is {wanted!r}; there is {', '.join(names)}. Name one "
        "of these, or install the package that brings it."
    )


def _made(plugin: EntryPoint, outside: Outside) -> GuardedChooser:
    try:
        return choosers.guarded(plugin.name, plugin.load(), outside)
    except Refused:
        raise
    except Exception as error:
        raise Refused(
            f"driver of [scheduler] is {plugin.name!r}, and {plugin.value} cannot be "
            f"made: {type(error).__name__}: {error}. Repair or remove the package that "
            "installed it, or name another driver."
        ) from error
