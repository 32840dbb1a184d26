"""A driver of another package, guarded: what it does wrong bears its name.

Apart from ``plugins``, which filters and weighers need before there are any fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gantt.errors import GanttError, Refused
from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.feasible_hosts import Field
from gantt.scheduler.plugins.guards import Blame, described
from gantt.scheduler.policy import Policy
from gantt.scheduler.request.job import Job
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

    def field(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        method = self._wrapped.field
        return self._pair(
            self._ask(method, state, spec, now=now, by_books=by_books, budget=budget)
        )

    def field_once(
        self,
        state: State,
        spec: RequestSpec,
        *,
        now: int,
        by_books: bool,
        budget: Budget,
    ) -> tuple[Job, Field]:
        method = self._wrapped.field_once
        return self._pair(
            self._ask(method, state, spec, now=now, by_books=by_books, budget=budget)
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

    def field_of(self, state: State, job: Job, *, now: int, budget: Budget) -> Field:
        return self._checked(
            self._ask(self._wrapped.field_of, state, job, now=now, budget=budget)
        )

    def _pair(self, found: Any) -> tuple[Job, Field]:
        if (
            not isinstance(found, tuple)
            or len(found) != 2
            or not isinstance(found[0], Job)
        ):
            raise self._blame.failed(
                f"gave {described(found)}: a job and a field were asked for"
            )
        return found[0], self._checked(found[1])

    def _ask(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        found = self._blame.call(method, *given, **named)
        self._kept, self.hits, self.misses = self._blame.call(self._counts)
        return found

    def _counts(self) -> tuple[int, int, int]:
        driver = self._wrapped
        return driver.kept, driver.hits, driver.misses

    def _checked(self, field: Any) -> Field:
        if not isinstance(field, Field):
            raise self._blame.failed(f"gave {described(field)}: a field was asked for")
        weights, size = field.weights, len(field.hosts)
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
        return field
