"""Plans capacity: how many of several flavors fit, what rules cost, until when.

Beside Scheduling, which decides about one request; nothing here is claimed or recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from gantt.engine.scheduling.argument_checks import Checks
from gantt.engine.scheduling.decider import Scheduling
from gantt.errors import Invalid
from gantt.model.capacity import (
    BY,
    MOST_DAYS,
    By,
    FairSplit,
    Forecast,
    Prices,
    period_of,
)
from gantt.model.spec import Flavor, RequestSpec, ScheduleRequest
from gantt.model.usage_history import SECONDS, HistoryQuery, UsageRecord
from gantt.scheduler.capacity.outlook import UsageSeries, history_of, outlook
from gantt.scheduler.capacity.price import prices
from gantt.scheduler.capacity.split import FlavorMix, fair_split
from gantt.scheduler.evaluation.known_names import check_names
from gantt.scheduler.feasibility.candidate_sources import CandidateSource
from gantt.scheduler.request.usual_flavors import named_flavors
from gantt.state.state import State

_MOST_WEIGHT: Final = 1e6
_MOST_RECORDS: Final = 100_000


class Planning:
    """Safe for many threads."""

    def __init__(
        self,
        scheduling: Scheduling,
        checks: Checks,
        search_budget: int | None,
        history: Callable[[HistoryQuery], list[UsageRecord]],
    ) -> None:
        """``history``: records of usage, the latest first."""
        self._history = history
        self._scheduling = scheduling
        self._checks = checks
        self._search_budget = search_budget

    def named_flavors(self) -> tuple[Flavor, ...]:
        """See SchedulerProtocol."""
        return named_flavors(self._scheduling.options.usual_flavors)

    def fair_split(
        self,
        specs: Sequence[RequestSpec],
        weights: Sequence[float] | None = None,
        *,
        by: By = "fleet",
    ) -> FairSplit:
        """See SchedulerProtocol."""
        specs = self._checks.flavors(specs)
        factors = (1.0,) * len(specs) if weights is None else tuple(weights)
        _check_weights(factors, len(specs))
        mix, sources = self._asked(specs, factors, by)
        split = self._scheduling.plugins.decided(self._split_on)
        return self._scheduling.reader.search(split, mix, sources)

    def rule_prices(self, spec: RequestSpec) -> Prices:
        """See SchedulerProtocol."""
        spec = self._checks.spec(spec)
        mix, (source,) = self._asked((spec,), (1.0,), "fleet")
        price = self._scheduling.plugins.decided(self._prices_on)
        return self._scheduling.reader.search(price, mix, source)

    def runs_out(
        self,
        specs: Sequence[RequestSpec] = (),
        *,
        by: By = "fleet",
        horizon_days: int = 30,
    ) -> Forecast:
        """See SchedulerProtocol."""
        if not 1 <= horizon_days <= MOST_DAYS:
            raise Invalid(
                f"horizon_days is {horizon_days}; it must be from 1 to {MOST_DAYS}."
            )
        specs = self._checks.flavors(specs) if specs else ()
        mix, sources = self._asked(specs, (1.0,) * len(specs), by)
        history = self._known(horizon_days, by)
        look = self._scheduling.plugins.decided(self._outlook_on)
        horizon_s = horizon_days * SECONDS["day"]
        return self._scheduling.reader.search(look, mix, sources, history, horizon_s)

    def _asked(
        self, specs: tuple[RequestSpec, ...], weights: tuple[float, ...], by: By
    ) -> tuple[FlavorMix, tuple[CandidateSource, ...]]:
        if by not in BY:
            raise Invalid(f"by is {by!r}; it must be one of {', '.join(BY)}.")
        mix = FlavorMix(
            specs, weights, by, self._checks.options.default_availability_zone
        )
        sources = tuple(
            self._scheduling.ask(ScheduleRequest(one, dry_run=True))[1] for one in specs
        )
        return mix, sources

    def _known(self, horizon_days: int, by: By) -> UsageSeries:
        step_s = SECONDS[period_of(horizon_days)]
        asked = HistoryQuery(step_s, limit=_MOST_RECORDS)
        records = self._history(asked)
        if by == "zone":
            records = [*records, *self._history(replace(asked, zone=None))]
        return history_of(reversed(records), step_s)

    def _outlook_on(
        self,
        state: State,
        mix: FlavorMix,
        sources: tuple[CandidateSource, ...],
        history: UsageSeries,
        horizon_s: int,
    ) -> Forecast:
        at = self._scheduling
        self._check_names(state, mix)
        return outlook(
            state=state,
            mix=mix,
            sources=sources,
            driver=at.driver,
            history=history,
            horizon_s=horizon_s,
            now=at.clock.now(),
            budget=self._search_budget,
            pause=at.plugins.give_way,
        )

    def _prices_on(
        self, state: State, mix: FlavorMix, source: CandidateSource
    ) -> Prices:
        at = self._scheduling
        self._check_names(state, mix)
        return prices(
            state,
            mix,
            source,
            at.driver.policy,
            now=at.clock.now(),
            budget=self._search_budget,
            pause=at.plugins.give_way,
        )

    def _check_names(self, state: State, mix: FlavorMix) -> None:
        for spec in mix.specs:
            check_names(state, spec, self._scheduling.driver)

    def _split_on(
        self, state: State, mix: FlavorMix, sources: tuple[CandidateSource, ...]
    ) -> FairSplit:
        at = self._scheduling
        self._check_names(state, mix)
        return fair_split(
            state,
            mix,
            sources,
            at.driver,
            now=at.clock.now(),
            budget=self._search_budget,
            pause=at.plugins.give_way,
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
