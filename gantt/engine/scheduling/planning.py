"""Plans capacity: how many more of several flavors fit together.

Beside Scheduling, which decides about one request; nothing here is claimed or recorded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from gantt.engine.scheduling.checks import Checks
from gantt.engine.scheduling.scheduling import Scheduling
from gantt.errors import Invalid
from gantt.model.capacity import BY, By, FairSplit
from gantt.model.spec import RequestSpec, ScheduleRequest
from gantt.scheduler.capacity.split import Mix, fair_split
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.state.state import State

_MOST_WEIGHT: Final = 1e6


class Planning:
    """Safe for many threads."""

    def __init__(
        self, scheduling: Scheduling, checks: Checks, search_budget: int | None
    ) -> None:
        self._scheduling = scheduling
        self._checks = checks
        self._search_budget = search_budget

    def fair_split(
        self,
        specs: Sequence[RequestSpec],
        weights: Sequence[float] | None = None,
        *,
        by: By = "fleet",
    ) -> FairSplit:
        """See SchedulerProtocol."""
        specs = self._checks.flavors(specs)
        if by not in BY:
            raise Invalid(f"by is {by!r}; it must be one of {', '.join(BY)}.")
        factors = (1.0,) * len(specs) if weights is None else tuple(weights)
        _check_weights(factors, len(specs))
        zone = self._checks.options.default_availability_zone
        mix = Mix(specs, factors, by, zone)
        sources = tuple(
            self._scheduling.ask(ScheduleRequest(one, dry_run=True))[1] for one in specs
        )
        split = self._scheduling.plugins.decided(self._split_on)
        return self._scheduling.reader.search(split, mix, sources)

    def _split_on(
        self, state: State, mix: Mix, sources: tuple[CandidateSource, ...]
    ) -> FairSplit:
        at = self._scheduling
        return fair_split(
            state,
            mix,
            sources,
            at.driver,
            now=at.clock.now(),
            budget=self._search_budget,
            pause=at.reader.rest,
        )


def _check_weights(weights: tuple[float, ...], count: int) -> None:
    if len(weights) != count:
        raise Invalid(
            f"{len(weights)} weights were given for {count} flavors: give one for "
            "each, or none."
        )
    for one in weights:
        if not (math.isfinite(one) and 1 / _MOST_WEIGHT <= one <= _MOST_WEIGHT):
            raise Invalid(
                f"A weight is {one}; it must be from {1 / _MOST_WEIGHT} to "
                f"{_MOST_WEIGHT:.0f}."
            )
