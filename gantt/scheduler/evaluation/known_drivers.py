"""Drivers by name: ours, and those of other packages (entry points), guarded.

Apart from ``registry``, which filters and weighers need before there are any feasible
hosts.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

from gantt.errors import Refused
from gantt.scheduler.evaluation import choosers
from gantt.scheduler.evaluation.caching import CachingDriver
from gantt.scheduler.evaluation.chance import ChanceDriver
from gantt.scheduler.evaluation.choosers import GuardedChooser
from gantt.scheduler.evaluation.driver import Driver
from gantt.scheduler.evaluation.evaluation import FilterDriver
from gantt.scheduler.plugins.plugin_calls import IN_PLACE, Outside
from gantt.scheduler.plugins.policy import Policy, without

DRIVERS: Final[tuple[type[Driver], ...]] = (FilterDriver, CachingDriver, ChanceDriver)


class ChoosingDriver(CachingDriver):
    """Masks and weights as ``caching`` has them; a plug-in chooses among the hosts."""

    def __init__(self, policy: Policy, chooser: GuardedChooser) -> None:
        super().__init__(policy)
        self.name = chooser.name
        self.chooser = chooser

    def without(self, name: str) -> Driver | None:
        assert self.chooser is not None, "made with one"
        return ChoosingDriver(without(self.policy, name), self.chooser)


def driver_of(policy: Policy, outside: Outside = IN_PLACE) -> Driver:
    """The driver that the options name; ``outside`` calls one of another package.
    Raises Refused when there is none, or it cannot be made."""
    wanted = policy.options.driver
    known = {driver.name: driver for driver in DRIVERS}
    if wanted in known:
        return known[wanted](policy)
    plugins = entry_points(group="gantt.drivers")
    for plugin in plugins:
        if plugin.name == wanted:
            return ChoosingDriver(policy, _made(plugin, outside))
    names = sorted({*known, *(plugin.name for plugin in plugins)})
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
