"""Drivers: ways to come from a request to the feasible of hosts it is picked from."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from gantt.errors import Refused
from gantt.scheduler.cache.driver import CachingDriver
from gantt.scheduler.drivers.chance import ChanceDriver
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.plugins.guarded_driver import GuardedDriver
from gantt.scheduler.policy import Policy

DRIVERS: tuple[type[Driver], ...] = (FilterDriver, CachingDriver, ChanceDriver)


def driver_of(policy: Policy) -> Driver:
    """The driver that the options name. Raises Refused when there is none, or it
    cannot be made."""
    wanted = policy.options.driver
    known = {driver.name: driver for driver in DRIVERS}
    if wanted in known:
        return known[wanted](policy)
    plugins = entry_points(group="gantt.drivers")
    for plugin in plugins:
        if plugin.name == wanted:
            return _made(plugin, policy)
    names = sorted({*known, *(plugin.name for plugin in plugins)})
    raise Refused(
        f"driver of [scheduler] is {wanted!r}; there is {', '.join(names)}. Name one "
        "of these, or install the package that brings it."
    )


def _made(plugin: EntryPoint, policy: Policy) -> Driver:
    try:
        made = plugin.load()(policy)
    except Exception as error:
        raise Refused(
            f"driver of [scheduler] is {plugin.name!r}, and {plugin.value} cannot be "
            f"made: {type(error).__name__}: {error}. Repair or remove the package that "
            "installed it, or name another driver."
        ) from error
    if not isinstance(made, Driver):
        raise Refused(
            f"driver of [scheduler] is {plugin.name!r}, and {plugin.value} makes a "
            f"{type(made).__name__}: it must be a gantt.scheduler.drivers.contract."
            "Driver."
        )
    return GuardedDriver(plugin.name, made)
