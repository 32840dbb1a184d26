"""The driver ``filter``: computes every mask and every score for each request."""

from __future__ import annotations

from gantt.model.spec import RequestSpec
from gantt.placement.candidates.combine import Budget
from gantt.scheduler.cycle import evaluate
from gantt.scheduler.drivers.contract import Driver
from gantt.scheduler.feasibility.candidates import CandidateSource
from gantt.scheduler.feasibility.feasible_hosts import FeasibleHosts
from gantt.scheduler.policy import without
from gantt.scheduler.stages import Mark
from gantt.state.state import State


class FilterDriver(Driver):
    """Caches nothing."""

    name: str = "filter"

    def feasible_hosts(
        self,
        state: State,
        spec: RequestSpec,
        source: CandidateSource,
        *,
        now: int,
        budget: Budget,
        is_trial: bool = False,  # noqa: ARG002
        mark: Mark | None = None,
    ) -> FeasibleHosts:
        return evaluate(state, spec, source, self.policy, now, budget, mark)

    def without(self, name: str) -> Driver | None:
        return FilterDriver(without(self.policy, name))
