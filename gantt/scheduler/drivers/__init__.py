"""Drivers: ways to come from a request to the field of hosts it is picked from."""

from __future__ import annotations

from importlib.metadata import entry_points

from gantt.errors import Refused
from gantt.scheduler.drivers.caching import CachingDriver
from gantt.scheduler.drivers.chance import ChanceDriver
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.policy import Policy

DRIVERS: tuple[type[Driver], ...] = (FilterDriver, CachingDriver, ChanceDriver)


def driver_of(policy: Policy) -> Driver:
    """The driver that the options name. Raises Refused when there is none."""
    wanted = policy.options.driver
    known = {driver.name: driver for driver in DRIVERS}
    if wanted in known:
        return known[wanted](policy)
    plugins = entry_points(group="gantt.drivers")
    for plugin in plugins:
        if plugin.name == wanted:
            made: Driver = plugin.load()(policy)
            return made
    names = sorted({*known, *(plugin.name for plugin in plugins)})
    raise Refused(
        f"driver of [scheduler] is {wanted!r}; there is {', '.join(names)}. Name one "
        "of these, or install the package that brings it."
    )
