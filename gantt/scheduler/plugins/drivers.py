"""Drivers by name: ours, and those of other packages (entry points), guarded.

Apart from ``registry``, which filters and weighers need before there are any feasible
hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from gantt.errors import GanttError, Refused
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.cache.driver import CachingDriver
from gantt.scheduler.drivers.chance import ChanceDriver
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.drivers.filter import FilterDriver
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.pauses import Moved
from gantt.scheduler.plugins.guards import Blame, described
from gantt.scheduler.policy import Policy
from gantt.state.state import State

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
    if hasattr(made, "field"):
        raise Refused(
            f"driver of [scheduler] is {plugin.name!r}, and {plugin.value} decides by "
            "field, which is asked no longer: define feasible_hosts in its place "
            "(docs/plugins.md)."
        )
    return GuardedDriver(plugin.name, made)


class GuardedDriver(Driver):
    """Its filters and weighers answer for themselves, and what the cycle refuses on
    its behalf is a refusal."""

    def __init__(self, name: str, wrapped: Driver, blame: Blame | None = None) -> None:
        """Raises Refused where it has no policy."""
        passing = (GanttError, Moved)
        self._blame = blame or Blame("driver", name, wrapped, passing)
        policy: object = getattr(wrapped, "policy", None)
        if not isinstance(policy, Policy):
            raise Refused(
                f"{self._blame.label} has {described(policy)} as its policy: call "
                "super().__init__(policy) in its __init__."
            )
        super().__init__(policy)
        self.name = name
        self._wrapped = wrapped
        self._kept = 0

    @property
    def kept(self) -> int:
        return self._kept

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        *,
        now: int,
        budget: Budget,
        is_trial: bool = False,
    ) -> FeasibleHosts:
        return self._checked(
            self._ask(
                self._wrapped.feasible_hosts,
                state,
                spec,
                source,
                now=now,
                budget=budget,
                is_trial=is_trial,
            )
        )

    def without(self, name: str) -> Driver | None:
        found = self._ask(self._wrapped.without, name)
        if found is None:
            return None
        if not isinstance(found, Driver):
            raise self._blame.failed(
                f"gave {described(found)}: a driver or None was asked for"
            )
        return GuardedDriver(self.name, found, self._blame)

    def _ask(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        found = self._blame.call(method, *given, **named)
        self._kept, self.hits, self.misses = self._blame.call(self._counts)
        return found

    def _counts(self) -> tuple[int, int, int]:
        driver = self._wrapped
        return driver.kept, driver.hits, driver.misses

    def _checked(self, found: Any) -> FeasibleHosts:
        if not isinstance(found, FeasibleHosts):
            raise self._blame.failed(
                f"gave {described(found)}: FeasibleHosts were asked for"
            )
        weights, size = found.weights, len(found.hosts)
        if (
            not isinstance(weights, np.ndarray)
            or weights.dtype != np.float64
            or weights.shape != (size,)
            or not np.isfinite(weights).all()
        ):
            raise self._blame.failed(
                f"gave {described(weights)} as weights: float64[{size}] was asked for, "
                "a finite number for each host that passes"
            )
        return found
