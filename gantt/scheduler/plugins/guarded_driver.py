"""A driver of another package, guarded: what it does wrong bears its name.

Apart from ``plugins``, which filters and weighers need before there are any
feasible_hosts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gantt.errors import GanttError, Refused
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.plugins.guards import Blame, described
from gantt.scheduler.policy import Policy
from gantt.state.state import State


class GuardedDriver(Driver):
    """Its filters and weighers answer for themselves, and what the pipeline refuses on
    its behalf is a refusal."""

    def __init__(self, name: str, wrapped: Driver, blame: Blame | None = None) -> None:
        """Raises Refused where it has no policy."""
        self._blame = blame or Blame("driver", name, wrapped, passing=(GanttError,))
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
